"""Settings from options and the environment."""

from pathlib import Path

import pytest

from nwx.errors import SettingsError
from nwx.settings import (
    DEFAULT_ENGINE,
    VARIABLES,
    RankingSettings,
    ServerSettings,
    build_folder,
    load_settings,
)


def test_options_go_before_the_environment_and_that_before_the_defaults() -> None:
    environment = {"NWX_PREFIX": "theirs", "NWX_SHARDS": "3"}
    settings = load_settings({"prefix": "ours", "engine": None}, environment)
    assert settings.engine == DEFAULT_ENGINE
    assert (settings.server.prefix, settings.server.shards) == ("ours", 3)
    assert settings.server.replicas == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("shards", "0"), ("replicas", "-1"), ("timeout", "never"), ("insecure", "perhaps")],
)
def test_a_value_that_makes_no_sense_is_named_by_its_place(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is '{value}'"):
        load_settings({name: value}, {})
    with pytest.raises(SettingsError, match=f"{VARIABLES[name]} is '{value}'"):
        load_settings({}, {VARIABLES[name]: value})


@pytest.mark.parametrize(
    ("text", "verify"), [("1", False), ("yes", False), ("0", True), ("", True)]
)
def test_insecure_turns_the_check_of_certificates_off(text: str, verify: bool) -> None:
    assert load_settings({}, {"NWX_INSECURE": text}).server.verify is verify


def test_secrets_are_not_shown() -> None:
    for name in ("cdx_token", "api_key", "password"):
        assert "secret" not in repr(load_settings({}, {VARIABLES[name]: "secret"}))


def test_each_archive_has_a_folder_of_its_own_for_facets(tmp_path: Path) -> None:
    one = ServerSettings(cache=str(tmp_path))
    other = ServerSettings(prefix="other", cache=str(tmp_path))
    folders = {
        build_folder(one, "http://a:9200", "facets"),
        build_folder(one, "http://b:9200", "facets"),
        build_folder(other, "http://a:9200", "facets"),
    }
    assert len(folders) == 3
    assert all(folder.is_relative_to(tmp_path) for folder in folders)


def test_the_weights_of_links_are_numbers_from_0_on() -> None:
    assert load_settings({}, {}).ranking == RankingSettings(2.0, 0.1)
    assert RankingSettings().are_set
    found = load_settings({}, {"NWX_ANCHOR_WEIGHT": "0", "NWX_INLINK_WEIGHT": "0"}).ranking
    assert found == RankingSettings(0.0, 0.0)
    assert not found.are_set
    for value in ("-1", "much", "nan", "1e9"):
        with pytest.raises(SettingsError, match="NWX_ANCHOR_WEIGHT"):
            load_settings({}, {"NWX_ANCHOR_WEIGHT": value})
