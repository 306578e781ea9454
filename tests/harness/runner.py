"""Runs the crawl of a job file in this process: `python -m harness.runner JOB.json RESULT.json`.

The job has "settings", "requests" and "attributes" (of the spider class); the result has those
fields of `crawl.Crawl` that the crawler knows, or "error" alone.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.spiders import Spider
from twisted.python.failure import Failure

from harness.spider import Outcome, spider_class


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job and return its result, or its "error" if the crawl did not start."""
    outcome: Outcome = {}
    spider = spider_class(job["requests"], outcome, job["attributes"])
    crawl = _crawl if job["settings"].get("TWISTED_REACTOR_ENABLED", True) else _crawl_reactorless
    begun_at = time.monotonic()
    try:
        stats = crawl(spider, job["settings"])
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
    return {
        "outcome": outcome,
        "stats": {k: v if isinstance(v, (int, float)) else str(v) for k, v in stats.items()},
        "seconds": time.monotonic() - begun_at,
    }


def _crawl(spider: type[Spider], settings: dict[str, Any]) -> dict[str, Any]:
    failures: list[Failure] = []
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    process.crawl(crawler).addErrback(failures.append)
    process.start()
    for failure in failures:
        failure.raiseException()
    assert crawler.stats is not None
    return crawler.stats.get_stats()


def _crawl_reactorless(spider: type[Spider], settings: dict[str, Any]) -> dict[str, Any]:
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    crawling = process.crawl(crawler)
    process.start()
    crawling.result()
    assert crawler.stats is not None
    return crawler.stats.get_stats()


if __name__ == "__main__":
    job_file, result_file = map(Path, sys.argv[1:])
    result_file.write_text(json.dumps(run(json.loads(job_file.read_text()))))
