"""Plugins in installed packages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warcs import Page, html, write_warc

PLUGIN = '''
from dataclasses import replace

import click
from nwx.extract import ExtractPayload
from nwx.extract.enrichers import Enricher
from nwx.model import Capture, Extract


def extract_notes(payload: ExtractPayload) -> Extract:
    """Return the text of a notebook of a kind that nwx does not know."""
    title, _, text = payload.data.decode("utf-8", "replace").partition("\\n")
    return Extract(title=title, content=text.strip())


def extract_nothing(payload: ExtractPayload) -> Extract:
    return Extract(title="a zebra", content=None)


def name_author(capture: Capture, data: bytes, found: Extract) -> Extract:
    return replace(found, author="somebody") if capture.host == "a.example" else found


colour = Enricher("colour", lambda one: {"colour": str(one.data.count(b"a"))}, frozenset({"html"}))


def as_markdown(hits, fields):
    for hit in hits:
        yield f"- [{hit.title}]({hit.url})\\n"


@click.command("shout")
@click.pass_obj
def shout(settings):
    click.echo(settings.engine.upper())
'''

ENTRY_POINTS = """
[nwx.extractors]
application/x-notes = nwx_notes:extract_notes
application/x-nothing = nwx_notes:extract_nothing
[nwx.enrichers]
author = nwx_notes:name_author
colour = nwx_notes:colour
[nwx.exporters]
md = nwx_notes:as_markdown
[nwx.commands]
shout = nwx_notes:shout
broken = nwx_notes:nothing
"""

PROGRAM = """
import json, sys, nwx
archive = nwx.open(sys.argv[1])
archive.import_(sys.argv[2], jobs=1)
assert not archive.search("other_fields:*")
archive.enrich(["colour"])
assert archive.enrich().documents == 0
hit = archive.search("author:somebody other_fields:colour=*")[0]
found = [hit.url, hit.title, archive.document(hit.id).document.extract.fields]
text = archive.document(archive.search("zebra")[0].id).document.extract.content
archive.search("zebra").write(sys.argv[3], "md")
print(json.dumps([found, text]))
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with the plugin installed."""
    folder = tmp_path / "site"
    info = folder / "nwx_notes-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "nwx_notes.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nwx-notes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path(__file__).parent.parent.parent}")
    return folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False)


def test_extractors_enrichers_and_exporters(site: Path, tmp_path: Path) -> None:
    pages = [
        Page("http://a.example/", "20150101000000", html("A", "a page")),
        Page("http://a.example/x", "20150102000000", b"Nothing", "application/x-nothing"),
        Page("http://b.example/n", "20150103000000", b"Notes\nof a zebra", "application/x-notes"),
    ]
    warc = write_warc(tmp_path / "a.warc.gz", pages)
    out = tmp_path / "out.md"
    found = run(sys.executable, "-c", PROGRAM, tmp_path / "archive", warc, out)
    assert not found.returncode, found.stderr
    page = ["http://a.example/", "A", {"colour": ["4"]}]
    assert json.loads(found.stdout) == [page, "of a zebra"]
    assert out.read_text() == "- [Notes](http://b.example/n)\n"


def test_commands(site: Path) -> None:
    program = "import sys; sys.argv[0] = 'nwx'; from nwx.cli.main import main; main()"
    nwx = (sys.executable, "-c", program)
    assert run(*nwx, "--engine", "place", "shout").stdout == "PLACE\n"
    assert "nwx_notes:shout" in run(*nwx, "--help").stdout
    broken = run(*nwx, "broken")
    assert broken.returncode == 2 and "nwx_notes:nothing" in broken.stderr
    assert run(*nwx, "shuot").returncode == 2
