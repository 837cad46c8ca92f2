"""Times of the assistants' tools, from the question to the answer in the SDK's client.

    python -m benchmarks.assistants ARCHIVE [--questions 300]

ARCHIVE is one that `python -m benchmarks.searching --sweep … --archive FOLDER` wrote. Prints the
median, the 95th percentile and the longest time in milliseconds, of first and repeated questions,
and the bytes of the longest answer.
"""

import argparse
import os
import random
import time

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks.corpus import Words
from benchmarks.searching import draw


def main() -> None:
    """Ask the questions, and print the times."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("archive")
    options.add_argument("--questions", type=int, default=300)
    given = options.parse_args()
    texts = [one.text for one in draw(Words(50_000, random.Random(7)), given.questions)]
    anyio.run(_ask_all, given.archive, texts)


async def _ask_all(archive: str, texts: list[str]) -> None:
    server = StdioServerParameters(
        command="nwx", args=["--engine", archive, "mcp"], env=dict(os.environ)
    )
    async with Client(server) as client:
        for tool, name in (("search", "query"), ("search", "query"), ("verify_quote", "text")):
            took, most = [], 0
            for text in texts:
                began = time.perf_counter()
                answer = await client.call_tool(tool, {name: text})
                took.append((time.perf_counter() - began) * 1000)
                most = max(most, len(answer.content[0].text.encode()))
            took.sort()
            late = took[len(took) * 95 // 100]
            print(f"{tool:14} {took[len(took) // 2]:6.0f} {late:6.0f} {took[-1]:6.0f}  {most}")


if __name__ == "__main__":
    main()
