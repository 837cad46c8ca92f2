"""The file of the index crawls while another process makes it."""

from pathlib import Path

from nwx.engine.open import open_engine
from nwx.settings import Settings


def test_a_file_without_tables_has_no_crawls_yet(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with open_engine(settings) as engine:
        engine.create()
    (tmp_path / "archive" / "crawls.db").touch()
    with open_engine(settings, read_only=True) as reader, open_engine(settings) as writer:
        assert reader.crawl_index().specifications() == []
        writer.crawl_index().save_specification("votes", "v1", "name = 'votes'")
        [found] = reader.crawl_index().specifications()
    assert found.name == "votes"


def test_removing_makes_no_archive(tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        assert not engine.crawl_index().remove_specification("votes")
    assert not (tmp_path / "archive").exists()
