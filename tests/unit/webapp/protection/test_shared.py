"""Metrics of an archive."""

from pathlib import Path

from nwx import Archive
from nwx.engine.embedded import EmbeddedEngine
from webapp import create_app
from webapp.protection.shared import show_metrics


def test_an_unreadable_file_is_not_counted_as_a_stopped_import(tmp_path: Path) -> None:
    (tmp_path / "noise.warc").write_bytes(b"noise")
    with EmbeddedEngine(tmp_path / "archive") as engine:
        archive = Archive.over(engine)
        archive.import_(tmp_path / "noise.warc")
        app = create_app(engine)
        show_metrics(app, archive, None, is_public=False)
        shown = app.test_client().get("/metrics").text
    assert 'nwx_import_files{state="unreadable"} 1.0' in shown
    assert 'nwx_import_files{state="stopped"} 0.0' in shown
