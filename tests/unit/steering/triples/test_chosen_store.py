"""Where the store of an archive is."""

from pathlib import Path

import pytest

from nwx.errors import SettingsError
from nwx.settings import Settings, load_settings
from nwx.steering.triples.chosen_store import triple_store
from nwx.steering.triples.local_store import LocalTripleStore
from nwx.steering.triples.remote_store import RemoteTripleStore


def test_it_is_in_the_archive_unless_another_place_is_set(tmp_path: Path) -> None:
    with triple_store(Settings(str(tmp_path / "archive"))).writer():
        assert (tmp_path / "archive" / "triples").is_dir()
    other = load_settings({}, {"NWX_ENGINE": "http://e.example", "NWX_TRIPLES": str(tmp_path)})
    assert isinstance(triple_store(other), LocalTripleStore)


def test_it_may_be_a_server() -> None:
    variables = {
        "NWX_TRIPLES": "http://t.example/update",
        "NWX_TRIPLES_QUERY": "http://t.example/q",
    }
    assert isinstance(triple_store(load_settings({}, variables)), RemoteTripleStore)


def test_an_archive_on_elasticsearch_needs_a_place() -> None:
    with pytest.raises(SettingsError, match="NWX_TRIPLES"):
        triple_store(Settings("http://e.example"))
