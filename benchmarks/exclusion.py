"""Loading an exclusion list and looking up captures, compared with a set of strings.

python benchmarks/exclusion.py --lines 5000000
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.dedup_cdx import made_lines
from nwx.dedup.exclusion_lists import ExclusionList

ASKED = 200_000


def main() -> None:
    """Make a list, load it both ways, and look up captures on the list and others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--no-set", action="store_true", help="leave out the set, for long lists")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "list.dup"
        asked = []
        with path.open("w") as stream:
            for number, line in enumerate(made_lines(given.lines)):
                _, date, url, _, _, digest, _ = line.split(" ", 6)
                stream.write(f"{date} {digest} {url}\n")
                if number % max(1, given.lines // ASKED) == 0:
                    asked.append((url, digest, date))
        others = [(url, digest, f"1999{date[4:]}") for url, digest, date in asked]
        begun = time.perf_counter()
        exclusion = ExclusionList.load([str(path)], Path(temporary))
        loaded = time.perf_counter()
        found = sum(exclusion.covers(*capture) for capture in [*asked, *others])
        done = time.perf_counter()
        _show("nwx", given.lines, loaded - begun, 2 * len(asked), done - loaded)
        assert found == exclusion.met == len(asked)
        exclusion.close()
        if not given.no_set:
            _with_a_set(path, asked, others, given.lines)


def _with_a_set(
    path: Path, asked: list[tuple[str, ...]], others: list[tuple[str, ...]], lines: int
) -> None:
    begun = time.perf_counter()
    with path.open() as stream:
        held = {line.rstrip("\n") for line in stream}
    loaded = time.perf_counter()
    captures = [*asked, *others]
    found = sum(f"{date} {digest} {url}" in held for url, digest, date in captures)
    done = time.perf_counter()
    _show("a set", lines, loaded - begun, len(captures), done - loaded)
    assert found == len(asked)


def _show(name: str, lines: int, loading: float, asked: int, asking: float) -> None:
    peak = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(
        f"{name:6} {lines:,} lines loaded in {loading:.1f} s ({lines / loading:,.0f}/s),"
        f" {asked / asking:,.0f} captures asked a second, at most {peak / 1024:.0f} MB"
    )


if __name__ == "__main__":
    main()
