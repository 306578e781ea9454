"""What a crawl decides about turns: events in, actions out; it never waits and never asks.

``turn``     the life of one turn, as a table of states and events
``phase``    what the whole crawl may do, as a table too
``actions``  what a driver is asked to do
``waiting``  requests that wait for their host's turn
``holders``  who has which turn
``turns``    all turns of a crawl, on top of the frontier

Standard library only.  `now` is an argument, requests are tickets of any hashable kind.
"""

from __future__ import annotations
