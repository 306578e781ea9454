"""The event log of a crawl, and what can be told from it.

From a log to a report: `schema` says what a line means, `writer` and `reader` deal with the file,
`tally` adds events up, `figures` and `promises` judge, `picture` has the rows of the timeline,
`summary` is all of it as frozen values; `text`, `page` and `png` show it, `load` finds it.
Beside that, `progress` and `bar` say how a running crawl stands.
"""

from __future__ import annotations
