"""From which measure on something is an alert, and until which measure it stays one."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nwx.errors import SettingsError

_TABLE = "alerts"


@dataclass(frozen=True, slots=True)
class Limit:
    """An alert begins where a measure reaches `begin`, and ends where it is below `end`."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class AlertThresholds:
    """When to alert; the table `[alerts]` of a TOML file has the same names.

    Shares are of the last 64 to 128 fetches of a host (`errors` and
    `silent`, from `host_fetches` on; `robots` from `robots_urls` on), of the
    last 32 to 64 of its pages (`wall`, from `wall_pages` on) and of 256
    pages in a row (`trap`: URLs without new content). `rate` is the fall
    against the half hour before, of at least `rate_fetches` a minute.
    `disk` is the share of a disk that is used, and `disk_gigabytes` what must be
    free. An alert is over once its measure was below the lower share for
    `quiet_minutes`.
    """

    errors: Limit = Limit(0.5, 0.25)
    silent: Limit = Limit(0.5, 0.25)
    host_fetches: int = 20
    robots: Limit = Limit(0.95, 0.8)
    robots_urls: int = 10
    wall: Limit = Limit(0.6, 0.4)
    wall_pages: int = 20
    trap: Limit = Limit(0.9, 0.75)
    rate: Limit = Limit(0.8, 0.5)
    rate_fetches: float = 10.0
    disk: Limit = Limit(0.95, 0.93)
    disk_gigabytes: float = 2.0
    quiet_minutes: float = 5.0


def read_thresholds(path: Path) -> AlertThresholds:
    """Return the thresholds of a TOML file; what it does not name is as by default.

    A limit is a number, or the two of `[begin, end]`; of a number alone the
    end is nine tenths. Raises SettingsError where the file cannot be read, or
    says something else.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"thresholds in {path} cannot be read: {error}") from error
    table = found.get(_TABLE, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [{_TABLE}] is no table")
    kinds = {
        field.name: type(getattr(AlertThresholds(), field.name))
        for field in fields(AlertThresholds)
    }
    values = {}
    for name, value in table.items():
        if name not in kinds:
            raise SettingsError(f"{path}: {name[:80]!r} is no threshold; take {', '.join(kinds)}")
        values[name] = _value(f"{path}: {name}", value, kinds[name])
    return AlertThresholds(**values)


def _value(place: str, value: Any, kind: type) -> Any:
    if kind is Limit:
        begin, end = value if isinstance(value, list) and len(value) == 2 else (value, None)
        share = _number(place, begin)
        found = Limit(share, 0.9 * share if end is None else _number(place, end))
        if not 0 <= found.end <= found.begin <= 1:
            raise SettingsError(f"{place} is {value!r}; it takes two shares, the higher one first")
        return found
    return kind(_number(place, value))


def _number(place: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise SettingsError(f"{place} is {str(value)[:80]!r}; it takes a number, 0 or more")
    return float(value)
