"""Loads captures into an archive until it is killed, in small steps; prints the numbers of loads.

With `forward` instead of a number, it opens the archive, which upgrades an older one.
"""

import sys
from pathlib import Path

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.captures import blocks, capture_writer, cdx_order, merges
from tests.conformance.archive import capture

LOADED = 60
"""Number of captures in odd loads, each of many steps; even loads have one capture."""


def main() -> None:
    """Load, or upgrade."""
    for module in (blocks, capture_writer, cdx_order):
        module.BLOCK_CAPTURES = 4
    cdx_order.SORTED_AT_ONCE, merges.MERGED_AT_ONCE, merges.FEW_CAPTURES = 10, 10, 40
    capture_writer.STEP_BLOCKS, merges.TURN_SECONDS = 1, 0
    merges._AT_ONCE = 5
    with EmbeddedEngine(Path(sys.argv[1])) as engine:
        if sys.argv[2] == "forward":
            return
        for number in range(int(sys.argv[2]), sys.maxsize):
            offsets = range(number * 100, number * 100 + (LOADED if number % 2 else 1))
            urls = (f"http://{offset % 7}.example/{offset}" for offset in offsets)
            stored = (
                capture(url, offset=offset) for url, offset in zip(urls, offsets, strict=True)
            )
            engine.load_captures([one] for one in stored)
            print(number, flush=True)


if __name__ == "__main__":
    main()
