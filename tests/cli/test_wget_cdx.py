"""nwx cdx --fields wget, as read by wget --warc-dedup."""

import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import Nwx
from tests.warcs import html


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve a folder with two pages; yield its address."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name in ("same", "other"):
        (folder / f"{name}.html").write_bytes(html(name, f"the text of {name} " * 50))
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def crawl(folder: Path, name: str, *arguments: str) -> Path:
    """Fetch pages with wget; return the WARC that it wrote."""
    command = ["wget", "-q", "-e", "robots=off", "-O", str(folder / "body"), "--warc-file", name]
    subprocess.run([*command, *arguments], cwd=folder, check=True, timeout=60)
    return folder / f"{name}.warc.gz"


def test_wget_writes_revisits_of_what_the_index_names(nwx: Nwx, tmp_path: Path, site: str) -> None:
    first = crawl(tmp_path, "first", f"{site}/same.html", f"{site}/other.html")
    index = tmp_path / "first.cdx"
    nwx("cdx", "--fields", "wget", "-o", index, first)
    assert len(index.read_bytes().splitlines()) == 3
    (tmp_path / "site" / "other.html").write_bytes(html("other", "changed"))
    dedup = f"--warc-dedup={index}"
    second = crawl(tmp_path, "second", dedup, f"{site}/same.html", f"{site}/other.html")
    lines = nwx("cdx", second).out.splitlines()
    mimes = {line.split(" ")[2].rpartition("/")[2]: line.split(" ")[3] for line in lines[1:]}
    assert (mimes["same.html"], mimes["other.html"]) == ("warc/revisit", "text/html")
