"""What is seen of requests on the wire: each signal of a fetch has one receiver, and it is here.

A receiver costs more than all that the parts do when they are told, so they share it.  The parts
are told in the order in which they came, each of them whatever another one raises.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from scrapy import signals

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.signalmanager import SignalManager

logger = logging.getLogger(__name__)


def tell(parts: Iterable[Callable[..., None]], *news: object) -> None:
    """Tell all parts; what one of them raises is logged and keeps no other from being told."""
    for part in parts:
        try:
            part(*news)
        except Exception:
            logger.exception("Unexpected error in scrapy_polite")


class Wire:
    """Tells the parts of a crawl what happens to its requests.

    Args:
        leaving: told of each request that goes to the network.
        heard: told of each request whose headers arrived.
        answered: told of each answer, once it is whole.
    """

    def __init__(self, manager: SignalManager) -> None:
        self.leaving: list[Callable[[Request], None]] = []
        self.heard: list[Callable[[Request], None]] = []
        self.answered: list[Callable[[Response, Request], None]] = []
        manager.connect(self._leaves, signals.request_reached_downloader)
        manager.connect(self._heard, signals.headers_received)
        manager.connect(self._answered, signals.response_downloaded)

    def _leaves(self, request: Request) -> None:
        tell(self.leaving, request)

    def _heard(self, request: Request) -> None:
        tell(self.heard, request)

    def _answered(self, response: Response, request: Request) -> None:
        tell(self.answered, response, request)
