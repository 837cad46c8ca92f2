from pathlib import Path

import pytest

from nwx.errors import SettingsError
from nwx.quality.monitor.thresholds import AlertThresholds, Limit, read_thresholds


def written(folder: Path, text: str) -> Path:
    path = folder / "alerts.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_not_named_is_as_by_default(tmp_path: Path) -> None:
    assert read_thresholds(written(tmp_path, "")) == AlertThresholds()
    found = read_thresholds(
        written(tmp_path, "[alerts]\nerrors = 0.9\nwall = [0.8, 0.2]\nhost_fetches = 50\n")
    )
    assert found == AlertThresholds(errors=Limit(0.9, 0.81), wall=Limit(0.8, 0.2), host_fetches=50)


@pytest.mark.parametrize(
    "text",
    [
        "alerts = 3",
        "[alerts]\nerror = 0.5",
        "[alerts]\nerrors = 'many'",
        "[alerts]\nerrors = 1.5",
        "[alerts]\nerrors = [0.2, 0.5]",
        "[alerts]\nerrors = [0.2]",
        "[alerts]\nerrors = true",
        "[alerts]\nquiet_minutes = -1",
        "[alerts",
    ],
)
def test_what_makes_no_sense(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"alerts\.toml"):
        read_thresholds(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_thresholds(tmp_path / "alerts.toml")
