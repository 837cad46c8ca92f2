"""Browsertrix's comparison of a page and its playback, with the same libraries.

Needs node and npm: the libraries are installed into a temporary folder.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copy, which

LIBRARIES = ("pixelmatch@5.3.0", "pngjs@7.0.0", "js-levenshtein@1.1.6")
"""The versions that Browsertrix Crawler 1.x resolves to."""

_SCRIPT = Path(__file__).parent / "formula.cjs"
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """Screenshots, texts and resources of a page in the crawl and in playback, None if missing.

    `urls` are the statuses of the resources by URL.
    """

    views: tuple[bytes, bytes] | None = None
    texts: tuple[str, str] | None = None
    urls: tuple[Mapping[str, int], Mapping[str, int]] | None = None


def has_node() -> bool:
    """Return whether node and npm are on the PATH."""
    return bool(which("node") and which("npm"))


@contextmanager
def installed_libraries() -> Iterator[Path]:
    """Yield a folder with the script and its libraries."""
    with tempfile.TemporaryDirectory(prefix="nwx-browsertrix-") as name:
        folder = Path(name)
        copy(_SCRIPT, folder / _SCRIPT.name)
        command = ["npm", "install", "--silent", "--no-fund", "--no-audit", *LIBRARIES]
        subprocess.run(command, cwd=folder, check=True, timeout=_SECONDS)
        yield folder


def browsertrix_numbers(folder: Path, pages: Sequence[ComparedPage]) -> list[dict[str, object]]:
    """Return Browsertrix's numbers for each page, and `different` and `distance`."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        lines = [json.dumps(_stored(Path(name), at, page)) for at, page in enumerate(pages)]
        done = subprocess.run(
            ["node", str(folder / _SCRIPT.name)],
            input="\n".join(lines),
            capture_output=True,
            check=True,
            text=True,
            timeout=_SECONDS,
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _stored(folder: Path, number: int, page: ComparedPage) -> dict[str, list[str] | None]:
    """Write the parts of a page to files, and return their paths."""
    urls = page.urls and [
        json.dumps({url: {"status": status} for url, status in each.items()}).encode()
        for each in page.urls
    ]
    texts = page.texts and [text.encode() for text in page.texts]
    parts = {"views": page.views, "texts": texts, "urls": urls}
    return {
        name: both
        and [_write(folder / f"{number}-{name}-{n}", each) for n, each in enumerate(both)]
        for name, both in parts.items()
    }


def _write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)
