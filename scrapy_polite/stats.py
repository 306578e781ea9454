"""The names of our stats, in one place; documented in docs/settings.md and checked against it."""

from __future__ import annotations

GATE_TURNS = "polite/gate/turns"  # requests that got their host's turn
GATE_UNUSED = "polite/gate/unused"  # turns given back without a fetch
GATE_STOPPED = "polite/gate/stopped"  # requests sent away: a stop, or a parked host
WAIT_REASON = "polite/wait/{reason}"  # waits by the part of the rule that decided
WAIT_SECONDS = "polite/wait/seconds"  # seconds of waits that were set
WAIT_CAPPED = "polite/wait/capped"  # waits that the ceiling cut
BACKOFF_REFUSALS = "polite/backoff/refusals"  # answers with a status of POLITE_BACKOFF_STATUSES
BACKOFF_STATUS = "polite/backoff/status/{status}"  # the same by status
BACKOFF_RETURNED = "polite/backoff/returned"  # refused requests that went back to their queue
BACKOFF_BLOCKED = "polite/backoff/blocked"  # blocks that were set
BACKOFF_RELEASED = "polite/backoff/released"  # blocks that a good answer ended
BACKOFF_PARKED = "polite/backoff/parked"  # hosts that were parked
BACKOFF_PARKED_LEFT = "polite/backoff/parked_requests"  # requests of parked hosts left at the end
TROUBLE = "polite/trouble/fetches"  # fetches that failed without being refused
OUTAGES = "polite/outages"  # times that nobody answered, so that the fault was ours
OUTAGE_PROBES = "polite/outages/probes"  # requests sent meanwhile, to see who answers
ROBOTS_ACCESS = "polite/robots/access/{access}"  # robots.txt fetches by access result
ROBOTS_HOPS = "polite/robots/hops"  # redirects followed
ROBOTS_DROPPED = "polite/robots/dropped"  # requests dropped as RobotsUnreachable
ROBOTS_NOBODY = "polite/robots/nobody"  # pages that failed as no server was there to ask
USAGE = "polite/usage/{label}/{preference}"  # pages whose owner says so of a use
PURPOSE_DROPPED = "polite/purpose/dropped/{source}"  # what POLITE_PURPOSE cost, by who forbade it
PAGE_DIRECTIVE = "polite/page/directive/{directive}"  # pages that say so of themselves
PAGE_REQUESTS = "polite/page/nofollow_requests"  # requests not made because of nofollow
PAGE_ITEMS = "polite/page/noindex_items/{fate}"  # items of noindex pages, marked or dropped
UNDONE_PAGES = "polite/undone/pages"  # pages kept for the next run, with work left undone
UNDONE_WITHHELD = "polite/undone/withheld"  # items and requests of such pages that went nowhere
UNDONE_LOST = "polite/undone/lost"  # requests sent away whose page nothing keeps
QUEUE_UNREADABLE = "polite/queue/unreadable"  # queued requests that could not be read
STORE_UNAVAILABLE = "polite/store/unavailable"  # times the store did not answer
