"""What has to hold before workers can share a queue, each said in one sentence when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_polite.redis.server import Server
from scrapy_polite.state.redis import RedisStore
from scrapy_polite.state.redis.client import refuse_cluster

if TYPE_CHECKING:
    from scrapy_polite.runtime.runtime import Runtime


def store_of(runtime: Runtime) -> RedisStore:
    """Return the store of a crawl, which has the turns of hosts.

    Raises:
        ValueError: it is not on Redis, or hosts are grouped in a way that workers cannot share.
    """
    store = runtime.store
    if not isinstance(store, RedisStore):
        raise ValueError(
            "SCHEDULER_QUEUE_CLASS is scrapy_polite.redis.PoliteQueue, which needs the turns of "
            "hosts beside the queue: set POLITE_STATE to what REDIS_URL is."
        )
    if runtime.config.group_by == "ip":
        raise ValueError(
            "POLITE_GROUP_BY is 'ip', which scrapy_polite.redis.PoliteQueue cannot do: "
            "write 'host' or 'domain'."
        )
    return store


def check_database(server: Server, client: Any) -> None:
    """See whether a client of scrapy-redis is for the database that the turns are in.

    Raises:
        ValueError: it is not, or the server is one of a cluster.
    """
    refuse_cluster(server.name, client.info("cluster"))
    if not server.is_same_as(client):
        raise ValueError(
            "REDIS_URL and POLITE_STATE are not the same Redis database: "
            "the queue and the turns of its hosts have to be in one."
        )
