"""Side by side: our robots.txt parser, Protego, and urllib.robotparser, each as Scrapy uses it.

    python benchmarks/robots_parsers.py [--timeout SECONDS]

Each number is measured in a process of its own that is ended after the timeout; the ratios are to
ours. "Parse" includes the first decision, because our parser and Protego put work off until then.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import product

from scrapy.robotstxt import ProtegoRobotParser, PythonRobotParser, RobotParser

from scrapy_polite.robots.parser import Rfc9309RobotParser

PARSERS: dict[str, type[RobotParser]] = {
    "scrapy_polite": Rfc9309RobotParser,
    "Protego": ProtegoRobotParser,
    "urllib": PythonRobotParser,
}
AGENT = b"ExampleBot/1.0 (+https://bot.example/)"
RUNS = 5
DECISION_SECONDS = 0.5

Build = Callable[[bytes], RobotParser]


def _ordinary() -> bytes:
    """About 2 KB: a few groups, some wildcards, a sitemap."""
    groups = [
        [f"User-agent: {name}", "Disallow: /"] for name in ("AlphaBot", "BetaBot", "GammaBot")
    ]
    groups += [
        ["User-agent: *"]
        + [f"Disallow: /section-{number}/private/" for number in range(40)]
        + [f"Disallow: /*?filter_{number}=" for number in range(10)]
        + [f"Allow: /section-{number}/private/open$" for number in range(10)]
        + ["Crawl-delay: 2", "Sitemap: https://site.example/sitemap.xml"]
    ]
    return "\n\n".join("\n".join(group) for group in groups).encode()


def _plain() -> bytes:
    rules = (f"Disallow: /section-{number % 200}/page-{number}\n" for number in range(20_000))
    return ("User-agent: *\n" + "".join(rules)).encode()


def _names_times_rules() -> bytes:
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = (f"User-agent: bot{a}{b}{c}\n" for a, b, c in product(letters, repeat=3))
    rules = (f"Disallow: /page-{number:05}\n" for number in range(20_000))
    return ("".join(names)[:240_000].rpartition("\n")[0] + "\n" + "".join(rules)[:240_000]).encode()


def _parse(build: Build, body: bytes) -> float:
    """Return the fewest milliseconds that parsing and one decision took."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        build(body).allowed("https://site.example/page", AGENT)
        best = min(best, time.perf_counter() - start)
    return best * 1000


def _decide(build: Build, body: bytes) -> float:
    """Return the decisions per second, over 1,000 different URLs."""
    parser = build(body)
    urls = [f"https://site.example/section-{n % 250}/page-{n * 31}?a={n}" for n in range(1000)]
    parser.allowed(urls[0], AGENT)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < DECISION_SECONDS:
        parser.allowed(urls[count % 1000], AGENT)
        count += 1
    return count / (time.perf_counter() - start)


def _keep(build: Build, body: bytes) -> float:
    """Return the octets that a parser holds after a first decision, its body included."""
    build(body).allowed("https://site.example/page", AGENT)
    tracemalloc.start()
    kept = []
    for number in range(20):
        parser = build(body + b"\n# %d" % number)
        parser.allowed("https://site.example/page", AGENT)
        kept.append(parser)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / len(kept)


Measure = Callable[[Build, bytes], float]
TASKS: dict[str, tuple[Measure, Callable[[], bytes], str]] = {
    "parse an ordinary file (2 KB)": (_parse, _ordinary, "ms"),
    "parse 20,000 plain rules": (_parse, _plain, "ms"),
    "parse 480 KB of names x rules": (_parse, _names_times_rules, "ms"),
    "decide, ordinary file": (_decide, _ordinary, "/s"),
    "decide, 20,000 plain rules": (_decide, _plain, "/s"),
    "keep an ordinary file (2 KB)": (_keep, _ordinary, "octets"),
}


def measure(task: str, parser: str) -> float:
    """Return one number of the table."""
    run, make_body, _ = TASKS[task]
    parser_class = PARSERS[parser]
    return run(lambda body: parser_class(body, None), make_body())  # type: ignore[call-arg]


def measure_apart(task: str, parser: str, timeout: float) -> float | None:
    """Return the number as a process of its own measures it, None when it does not finish."""
    command = [sys.executable, __file__, "--cell", task, parser]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=True
        )
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout)


def _cell(value: float | None, ours: float | None, timeout: float) -> str:
    if value is None:
        return f"not in {timeout:g} s"
    number = f"{value:,.3f}" if value < 10 else f"{value:,.0f}"
    return f"{number} ({value / ours:.2f}x)" if ours else number


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--timeout", type=float, default=20.0, help="seconds for each number")
    options.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.cell:
        print(measure(*given.cell))
        return
    print(f"{'':32}{'':8}" + "".join(f"{name:>22}" for name in PARSERS))
    for task, (_, _, unit) in TASKS.items():
        values = [measure_apart(task, parser, given.timeout) for parser in PARSERS]
        cells = (_cell(value, values[0], given.timeout) for value in values)
        print(f"{task:32}{unit:8}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
