"""What a robots.txt file allows: RFC 9309 read, matched and explained.

One module, one job; a module imports only from lines below it:

    parser      the Scrapy component (the only module here that knows Scrapy)
    problems    what its owner should put right in the file
    mistakes    and in single lines
    statements  and in preferences
    hints       Crawl-delay and other records outside the RFC (the only module that knows Protego)
    rules       the file as a whole: verdicts and their explanation
    preferences what may be done with a page
    matcher     rules + a URL -> the rule that decides
    groups      records + a product token -> the group that applies
    lines       octets -> numbered records
    escapes     one spelling of a percent-encoded path
"""
