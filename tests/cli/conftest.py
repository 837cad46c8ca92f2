"""Fixtures that run the installed command."""

import json
import os
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_server import COMMAND, CommandServer
from tests.warcs import Page, html, many_pages, write_warc


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as JSON."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        """The output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


__all__ = ["COMMAND"]

Nwx = Callable[..., Ran]


def environment(engine: Path | str, **more: str) -> dict[str, str]:
    """Return an environment with an archive and without terminal colours."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG", "PYTHONPATH")
        if name in os.environ
    }
    return {**kept, "NWX_ENGINE": str(engine), "PYTHONWARNINGS": "error", **more}


def run_nwx(
    engine: Path | str, *arguments: object, stdin: bytes = b"", code: int | None = 0, **more: str
) -> Ran:
    """Run the command and return its result; it must exit with `code` unless that is None."""
    asked = environment(engine, **more)
    server = command_server(asked["PYTHONWARNINGS"])
    done = server.run(list(map(str, arguments)), asked, stdin, 300)
    ran = Ran(done.code, done.out.decode(), done.err.decode())
    assert code is None or ran.code == code, (ran.code, ran.out, ran.err)
    return ran


@cache
def command_server(warnings: str = "error") -> CommandServer:
    """Return the server that runs the commands of this process."""
    return CommandServer(environment("none", PYTHONWARNINGS=warnings))


@pytest.fixture
def nwx(tmp_path: Path) -> Nwx:
    """Runs nwx on the test's own archive."""

    def run(*arguments: object, **options: Any) -> Ran:
        return run_nwx(tmp_path / "archive", *arguments, **options)

    return run


@pytest.fixture
def warc(tmp_path: Path) -> Path:
    """A WARC of thirty pages, some captured twice."""
    return write_warc(tmp_path / "pages.warc.gz", many_pages(30))


QUARRY = Page(
    "http://www.quarry.example/", "20140126200624", html("The quarry", "Slate from the quarry.")
)


@pytest.fixture(scope="session")
def quarry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A read-only archive of a few pages."""
    folder = tmp_path_factory.mktemp("quarry")
    pages = [
        QUARRY,
        Page(QUARRY.url, "20150126200624", QUARRY.body, revisit=True),
        Page(QUARRY.url, "20160126200624", html("The quarry", "Slate and marble of the quarry.")),
        Page(
            "http://evil.example/\x1b[31m",
            "20160201000000",
            html("\x1b]0;owned\x07Red \x1b[31mtitle", "quarry of escapes \x9b31m \u202egnp"),
        ),
        Page("http://www.quarry.example/日本", "20170101000000", html("採石場", "石の採石場です")),
        Page(
            "http://www.quarry.example/gone",
            "20170101000000",
            html("Gone", "no more quarry"),
            status="404 Not Found",
        ),
    ]
    write_warc(folder / "quarry.warc.gz", pages)
    run_nwx(folder / "archive", "import", "--collection", "stones", folder / "quarry.warc.gz")
    return folder / "archive"


@pytest.fixture
def elasticsearch_prefix(elasticsearch_url: str) -> Iterator[str]:
    """A unique index prefix; indices with it are removed at the end."""
    with own_prefix(elasticsearch_url) as prefix:
        yield prefix


@contextmanager
def own_prefix(url: str) -> Iterator[str]:
    """Yield a unique index prefix on a server; indices with it are removed at the end."""
    prefix, url = f"nwx-cli-{uuid.uuid4().hex[:12]}", url.removeprefix("opensearch+")
    yield prefix
    with urllib.request.urlopen(f"{url}/{prefix}*/_settings") as answer:
        names = list(json.load(answer))
    for name in names:
        request = urllib.request.Request(f"{url}/{name}", method="DELETE")
        with urllib.request.urlopen(request):
            pass
