"""The size of an archive."""

from pathlib import Path

from nwx.checks.archive_size import measure, unknown_sizes
from nwx.engine.open import open_engine
from nwx.settings import Settings
from tests.conformance.archive import also, batch, page


def test_entries_and_bytes_of_each_index_are_told(tmp_path: Path) -> None:
    pages = [page("http://a.example/", "2010", "one"), page("http://b.example/", "2011", "two")]
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as engine:
        engine.write(batch(pages, [also(pages[0], "2012")]))
        found = measure(engine)
        assert found.keys() == unknown_sizes().keys()
        assert found["bytes"].keys() == unknown_sizes()["bytes"].keys()
    sizes = found.pop("bytes")
    assert found.pop("attached") == {}
    assert {name: found[name] for name in ("documents", "dates", "captures", "files")} == {
        "documents": 2,
        "dates": 2,
        "captures": 2,
        "files": 0,
    }
    assert set(sizes) == set(found)
    assert sizes["captures"] is None or sizes["captures"] > 0
