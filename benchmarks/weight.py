"""Size of the project: lines, modules, words of documentation, repeated lines.

    python -m benchmarks.weight [--json]

Prints the current counts with the goals. A line counts as repeated if it is
in a run of six lines of code, without blanks, comments and imports, that
occurs exactly in two places of nwx and webapp.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("nwx", "webapp")
RUN = 6
SMALL = 40
GOALS = {
    "lines": 100_000,
    "modules": 620,
    f"modules below {SMALL} lines": None,
    "words of documentation": 50_000,
    "words of docs/architecture.md": 2_500,
    "repeated lines": None,
}


def counts() -> dict[str, int]:
    """Return the counts by name, in the order of GOALS."""
    texts = {path: path.read_text(encoding="utf-8") for path in _modules()}
    sizes = [text.count("\n") for text in texts.values()]
    documents = {path: len(path.read_text(encoding="utf-8").split()) for path in _documents()}
    values = (
        sum(sizes),
        len(sizes),
        sum(size < SMALL for size in sizes),
        sum(documents.values()),
        documents[ROOT / "docs" / "architecture.md"],
        _repeated(texts),
    )
    return dict(zip(GOALS, values, strict=True))


def _modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def _documents() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def _repeated(texts: dict[Path, str]) -> int:
    """Return the number of lines in runs that also occur elsewhere."""
    places: defaultdict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, text in texts.items():
        lines = [line.strip() for line in text.splitlines()]
        code = [line for line in lines if line and not line.startswith(("#", "import ", "from "))]
        for number in range(len(code) - RUN + 1):
            places[tuple(code[number : number + RUN])].append((path, number))
    repeated = {
        (path, number + offset)
        for found in places.values()
        if len(found) > 1
        for path, number in found
        for offset in range(RUN)
    }
    return len(repeated)


def main() -> None:
    """Print the counts."""
    found = counts()
    if "--json" in sys.argv[1:]:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        goal = GOALS[name]
        print(f"{name:32} {value:>9,}" + (f"   goal {goal:,}" if goal else ""))


if __name__ == "__main__":
    main()
