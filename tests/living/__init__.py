"""Living with the rest of Scrapy: its components, commands and processes beside ours.

The verdict is the server's log.  What concerns robots.txt, the gate or back-off by themselves is in
`crawls`, as are users' own middlewares (`test_survival`) and stops (`test_stopping`).
"""
