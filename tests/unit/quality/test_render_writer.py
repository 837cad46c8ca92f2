"""Renders in WARC files, and the report of rendering."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from nwx.errors import SourceError
from nwx.model import Comparison
from nwx.quality.browser.targets import PlayedResource
from nwx.quality.render_writer import (
    RenderReport,
    RenderWriter,
    is_missing,
    is_worth_keeping,
    iso_date,
    pageinfo_json,
)
from nwx.values.render_names import RenderKind
from tests.rendering.renders import render

NOW = datetime(2026, 3, 4, 5, 6, 7, 890_123, UTC)


def test_dates_have_milliseconds() -> None:
    assert iso_date(NOW) == "2026-03-04T05:06:07.890Z"


def test_a_page_without_an_answer_has_browsertrix_status_for_unknown() -> None:
    assert json.loads(pageinfo_json(render(status=0), NOW))["tsStatus"] == 999


def test_what_was_not_compared_is_left_out() -> None:
    found = json.loads(pageinfo_json(render(), NOW, Comparison(text=1.0)))
    assert found["comparison"] == {"textMatch": 1.0, "resourceCounts": {}}


def test_broken_text_of_pages_is_written_all_the_same() -> None:
    assert json.loads(pageinfo_json(render("http://made.example/\ud800"), NOW))["url"]


URL = "http://made.example/"


def records(path: Path) -> list[tuple[str, str, dict[str, str], bytes]]:
    """Return type, target URI, headers and content of all records."""
    with path.open("rb") as handle:
        return [
            (
                each.rec_type,
                each.rec_headers.get_header("WARC-Target-URI") or "",
                dict(each.rec_headers.headers),
                each.content_stream().read(),
            )
            for each in ArchiveIterator(handle)
        ]


def test_renders_are_written_as_browsertrix_does(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path) as writer:
        places = writer.write(render()).places
    found = records(path)
    assert [(kind, uri) for kind, uri, _, _ in found] == [
        ("warcinfo", ""),
        ("resource", f"urn:view:{URL}"),
        ("resource", f"urn:thumbnail:{URL}"),
        ("resource", f"urn:fullPage:{URL}"),
        ("resource", f"urn:text:{URL}"),
        ("resource", f"onreadydom:{URL}"),
        ("resource", f"urn:pageinfo:{URL}"),
    ]
    headers = found[1][2]
    assert headers["WARC-Date"] == "2020-01-01T00:00:00.000Z"
    assert headers["NWX-Rendered-From"] == "playback"
    assert headers["NWX-Rendered-Date"] > "2026"
    assert headers["Content-Type"] == "image/png"
    assert found[4][3] == b"Hello"
    info = json.loads(found[6][3])
    assert info.pop("pageid")
    assert info == {
        "url": URL,
        "ts": "2020-01-01T00:00:00.000Z",
        "tsStatus": 200,
        "urls": {
            URL: {"status": 200, "mime": "text/html", "type": "document"},
            f"{URL}gone.png": {"status": 404, "mime": "text/plain", "type": "image"},
        },
        "counts": {"jsErrors": 2},
    }
    place = places[RenderKind.VIEW]
    stored = path.read_bytes()[place.offset : place.offset + place.length]
    assert stored.startswith(b"\x1f\x8b") and place.path == str(path)
    assert list(places) == [*list(RenderKind)[:4], RenderKind.DOM, RenderKind.PAGEINFO]


def test_warcio_finds_nothing_wrong(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path) as writer:
        writer.write(render("http://made.example/ü?a=%20b c"))
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("digest pass")) == (0, 7), done.stdout


def test_live_renders_are_of_now(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path) as writer:
        writer.write(render(from_playback=False))
    headers = records(path)[1][2]
    assert headers["NWX-Rendered-From"] == "live"
    assert headers["WARC-Date"] == headers["NWX-Rendered-Date"]


def test_a_comparison_goes_into_the_page_information(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path) as writer:
        writer.write(render(), Comparison(0.5, None, 10, 1, 9, 2))
    assert json.loads(records(path)[-1][3])["comparison"] == {
        "screenshotMatch": 0.5,
        "resourceCounts": {"crawlGood": 10, "crawlBad": 1, "replayGood": 9, "replayBad": 2},
    }


def test_a_page_of_which_there_is_nothing_has_its_information(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    nothing = render(view=b"", thumbnail=b"", full_page=b"", dom="", text="", problem="crash")
    with RenderWriter(path) as writer:
        writer.write(nothing)
    assert [uri for _, uri, _, _ in records(path)] == ["", f"urn:pageinfo:{URL}"]


@pytest.mark.parametrize("lost", [1, 100, 600])
def test_what_a_killed_writer_left_unfinished_is_cut_off(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path) as writer:
        writer.write(render())
        writer.write(render("http://made.example/second"))
    whole = records(path)
    path.write_bytes(path.read_bytes()[:-lost])
    with RenderWriter(path) as writer:
        writer.write(render("http://made.example/third"))
    found = [uri for _, uri, _, _ in records(path)]
    kept = len(found) - 6
    assert 7 <= kept < len(whole)
    assert found[:kept] == [uri for _, uri, _, _ in whole][:kept]
    assert found[-1] == "urn:pageinfo:http://made.example/third"


def test_a_file_of_which_only_a_piece_of_the_warcinfo_is_left_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path):
        pass
    path.write_bytes(path.read_bytes()[:50])
    with RenderWriter(path):
        pass
    assert [kind for kind, *_ in records(path)] == ["warcinfo"]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"WARC/1.0 or not")
    with pytest.raises(SourceError, match="gzip"), RenderWriter(path):
        pass
    assert path.read_bytes() == b"WARC/1.0 or not"


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with (
        RenderWriter(path),
        pytest.raises(SourceError, match="another process"),
        RenderWriter(path),
    ):
        pass


def test_pages_are_counted_with_what_failed() -> None:
    report = RenderReport()
    report.add(render(leaks=("http://live.example/",), refused={"dialogs": 2}), written=True)
    report.add(render(problem="navigation: net::ERR_FAILED", resources=()), written=False)
    assert (report.pages, report.written, report.leaks, report.refused["dialogs"]) == (2, 1, 1, 2)
    assert (report.resources, report.resources_failed) == (2, 1)
    assert report.problems == {"navigation": 1}
    assert json.loads(json.dumps(report.values()))["refused"] == {"dialogs": 2}
    assert report.examples == ["http://made.example/: navigation: net::ERR_FAILED"]


def test_pages_that_are_not_in_the_archive_are_not_kept() -> None:
    assert is_worth_keeping(render())
    assert is_worth_keeping(render(status=404)), "an archived 404"
    gone = render(status=404, capture_timestamp="")
    assert is_missing(gone) and not is_worth_keeping(gone)
    assert not is_worth_keeping(render(resources=(PlayedResource("http://a.example/", 0),)))
