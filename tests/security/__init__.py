"""What a hostile site can do to the crawler, a module per way in.

Expectations are bounds: of time, memory, size of files; of what is sent where; and of what a person
finds in logs and reports.  Where time is measured the bound is stated beside the test, many times
what it takes, and far below what it took before there was one.
"""
