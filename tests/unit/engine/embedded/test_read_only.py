"""A read-only archive can be read, whether by its mount or by the mode of its folders."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents.tantivy_index import ReadIndex, schema
from nwx.model import Dates, IndexName
from tests.unit.engine.embedded.making import batch, page

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
ROOT = Path(__file__).parents[4]
ASK = """
import json, sys
from pathlib import Path
from nwx.cdxserver.sources import EngineSource
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.capture_index import CdxSpan
from nwx.facets.answers import FacetAnswers
from nwx.facets.question import parse_facet_question
from nwx.query.question import Question
with EmbeddedEngine(Path(sys.argv[1])) as engine:
    assert not engine.upgrade().formats + engine.upgrade().indices
with EmbeddedEngine(Path(sys.argv[1]), read_only=True) as engine:
    found = engine.search(Question("words", facets=("domain",)))
    facets = FacetAnswers(engine).answer(parse_facet_question(where=[], by="type"))
    print(json.dumps({
        "hits": len(found.hits),
        "dates": sorted({date[:4] for hit in found.hits for date in hit.dates}),
        "facets": facets.total.captures,
        "cdx": len(list(engine.cdx_rows(CdxSpan("", "~")))),
        "stats": {str(name): one.entries for name, one in engine.stats().items()},
        "named": [one.problem for one in engine.dates_indices()],
    }))
"""


def obey_modes() -> None:
    """Make file modes apply to root too, for programs started later."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def asked(archive: Path) -> dict[str, object]:
    """Return the results of a process that cannot write to the archive."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK, str(archive)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=obey_modes,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Path]:
    """An archive with an attached index of dates, whose folders will be read-only."""
    place = tmp_path / "archive"
    with EmbeddedEngine(place) as engine:
        engine.write(batch(*(page(number, "some words") for number in range(3))))
        key = f"http://example.org/1 sha1:{1:032d}"
        engine.append_dates([Dates(key, (("20200101000000", "web"),))], into="more")
    yield place
    set_mode(place, 0o755)
    shutil.rmtree(place)


def set_mode(place: Path, mode: int) -> None:
    for folder in (place, *(path for path in place.rglob("*") if path.is_dir())):
        folder.chmod(mode)


def test_a_read_only_archive_is_read(archive: Path) -> None:
    set_mode(archive, 0o555)
    before = sorted(archive.rglob("*"))
    assert asked(archive) == {
        "hits": 3,
        "dates": ["2010", "2020"],
        "facets": 3,
        "cdx": 3,
        "stats": dict.fromkeys(IndexName, 0) | dict.fromkeys(("documents", "dates", "captures"), 3),
        "named": ["", ""],
    }
    assert sorted(archive.rglob("*")) == before


def test_what_a_writer_left_in_its_journal_is_read_too(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with EmbeddedEngine(archive) as engine:
        engine.write(batch(page(7, "more words")))
        engine.refresh()
        shutil.copytree(archive, copy)
    set_mode(copy, 0o555)
    try:
        assert asked(copy)["hits"] == 4
    finally:
        set_mode(copy, 0o755)


def test_a_lock_made_while_the_links_are_removed_is_no_error(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_empty(*_: object, **__: object) -> None:
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        index = ReadIndex(schema(), archive / "documents")
    monkeypatch.setattr(os, "rmdir", not_empty)
    index.close()
