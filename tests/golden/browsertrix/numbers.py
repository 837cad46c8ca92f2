"""Regenerates numbers.json: `python -m tests.golden.browsertrix.numbers`; needs node and npm."""

import hashlib
import json
from pathlib import Path

from benchmarks.browsertrix.formula import (
    LIBRARIES,
    ComparedPage,
    browsertrix_numbers,
    installed_libraries,
)
from tests.golden.browsertrix.pairs import RESOURCES, TEXTS, Pixels, pictures, png

NUMBERS = Path(__file__).parent / "numbers.json"


def pixel_digest(pair: tuple[Pixels, Pixels]) -> str:
    """Return the digest of the pixels of both images."""
    return hashlib.sha256(b"".join(each.tobytes() for each in pair)).hexdigest()


def _made() -> dict[str, object]:
    drawn = pictures()
    pages = [ComparedPage(views=(png(first), png(second))) for first, second in drawn.values()]
    pages += [ComparedPage(texts=pair) for pair in TEXTS.values()]
    pages += [ComparedPage(urls=pair) for pair in RESOURCES.values()]
    with installed_libraries() as folder:
        numbers = iter(browsertrix_numbers(folder, pages))
    return {
        "libraries": list(LIBRARIES),
        "pictures": {
            name: {"pixels": pixel_digest(pair), **next(numbers)} for name, pair in drawn.items()
        },
        "texts": {name: next(numbers) for name in TEXTS},
        "resources": {name: next(numbers) for name in RESOURCES},
    }


if __name__ == "__main__":
    NUMBERS.write_text(json.dumps(_made(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
