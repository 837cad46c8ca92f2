"""The only reader of the environment and of configuration files."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from nwx.data_classes import dataclass
from nwx.errors import SettingsError

DEFAULT_ENGINE = "archive"
DEFAULT_SEARCH_SECONDS = 10.0
DEDUP_SCOPES = ("archive", "collection")
"""The captures offered by a collection's Redis database: the archive's or the collection's."""

VARIABLES = {
    "engine": "NWX_ENGINE",
    "prefix": "NWX_PREFIX",
    "shards": "NWX_SHARDS",
    "replicas": "NWX_REPLICAS",
    "expected_captures": "NWX_EXPECTED_CAPTURES",
    "partial": "NWX_PARTIAL",
    "api_key": "NWX_API_KEY",
    "username": "NWX_USERNAME",
    "password": "NWX_PASSWORD",
    "ca_file": "NWX_CA_FILE",
    "insecure": "NWX_INSECURE",
    "timeout": "NWX_TIMEOUT",
    "cdx_token": "NWX_CDX_TOKEN",
    "queue_token": "NWX_QUEUE_TOKEN",
    "cache": "NWX_CACHE",
    "triples": "NWX_TRIPLES",
    "triples_query": "NWX_TRIPLES_QUERY",
    "search_seconds": "NWX_SEARCH_SECONDS",
    "anchor_weight": "NWX_ANCHOR_WEIGHT",
    "inlink_weight": "NWX_INLINK_WEIGHT",
    "browser": "NWX_BROWSER",
    "webhook": "NWX_WEBHOOK",
    "alert_command": "NWX_ALERT_COMMAND",
    "thresholds": "NWX_THRESHOLDS",
    "users": "NWX_USERS",
    "users_file": "NWX_USERS_FILE",
    "access_token": "NWX_ACCESS_TOKEN",
    "rate_limit": "NWX_RATE_LIMIT",
    "metrics_token": "NWX_METRICS_TOKEN",
    "public_url": "NWX_PUBLIC_URL",
    "dedup_scope": "NWX_DEDUP_SCOPE",
    "embedder": "NWX_EMBEDDER",
}
"""The environment variables by name of setting; they apply if a setting is not given."""

_PUBLIC_URL = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", re.ASCII)
_MAX_WEIGHT, _MAX_RATE = 1_000, 1_000_000
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Connection to a search server, and layout of the indices on it.

    New indices get the shards needed for `expected_captures`, at least `shards`. With `partial`,
    searches may leave out shards that do not answer.
    """

    prefix: str = "nwx"
    shards: int = 1
    replicas: int = 0
    expected_captures: int = 0
    partial: bool = False
    api_key: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    verify: bool = True
    timeout_seconds: float = 30.0
    cache: str = ""


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """Weights of links in the ranking of results (`nwx.engine.inlinks.anchor_scores`).

    The score of anchor texts is multiplied by `anchor_weight`, as a title's is by 3; at 0, anchors
    neither match nor count. If a document's own words match too, `lower` times the lower score is
    added to the higher. A page's score is multiplied by 1 + `inlink_weight` * log10(1 + linking
    domains). With both weights at 0, links do not affect the order.
    """

    anchor_weight: float = 2.0
    inlink_weight: float = 0.1
    lower: float = 0.5

    @property
    def are_set(self) -> bool:
        """Return whether links affect the order of results."""
        return self.anchor_weight > 0 or self.inlink_weight > 0


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Recipients and thresholds of monitor alerts.

    `webhook` is an address that accepts JSON, `command` a program with its arguments, `thresholds`
    a TOML file; "" means none.
    """

    webhook: str = field(default="", repr=False)
    command: str = ""
    thresholds: str = ""


@dataclass(frozen=True, slots=True)
class UserSettings:
    """User authentication of the service (`nwx.access.user_options`).

    Accounts and sessions are stored in `file`; "" means a file in the archive's folder. The bearer
    of `access_token` is an administrator; "" disables it.
    """

    users: str = ""
    file: str = ""
    access_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ProtectionSettings:
    """Protection of the service from its clients.

    A network may request `rate` resources per second (`webapp.server.protection`); 0 means
    no limit. The bearer of `metrics_token` may read the metrics; "" disables it. Requests are
    logged to the file `request_log`, "-" for standard error, "" for none.
    """

    rate: float = 0.0
    metrics_token: str = field(default="", repr=False)
    request_log: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an archive and its services; `engine` is a folder or http(s) address.

    `cdx_token` permits writing captures through a CDX server, `queue_token` writing to a crawler's
    queue and leasing from it; "" permits nobody. A search by the pages and the API may take
    `search_seconds`. Triples are stored in `triples`, a folder or the update address of a SPARQL
    server; "" means the archive's folder. Queries of such a server go to `triples_query`; "" means
    the same address. Pages are rendered by the Chromium `browser`; "" means the one on the PATH.
    Readers find the archive at `public_url`; "" means unknown. Vectors are made by the `embedder`,
    a command or an address; "" means a packaged model. Crawlers that deduplicate are offered
    captures of the `dedup_scope`; "" means the scope stored in the archive.
    """

    engine: str = DEFAULT_ENGINE
    server: ServerSettings = ServerSettings()
    cdx_token: str = field(default="", repr=False)
    queue_token: str = field(default="", repr=False)
    search_seconds: float = DEFAULT_SEARCH_SECONDS
    ranking: RankingSettings = RankingSettings()
    triples: str = field(default="", repr=False)
    triples_query: str = field(default="", repr=False)
    browser: str = ""
    alerts: AlertSettings = AlertSettings()
    users: UserSettings = UserSettings()
    protection: ProtectionSettings = ProtectionSettings()
    public_url: str = ""
    dedup_scope: str = ""
    embedder: str = ""


def load_settings(
    given: Mapping[str, str | None], environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return settings from values given by name, and otherwise from the environment.

    Raises SettingsError on an invalid value, naming its source.
    """
    texts = _Texts(given, environment)
    ranking = RankingSettings()
    return Settings(
        texts.text("engine", DEFAULT_ENGINE),
        _server_settings(texts, environment.get("XDG_CACHE_HOME", "")),
        cdx_token=texts.text("cdx_token", ""),
        queue_token=texts.text("queue_token", ""),
        search_seconds=texts.seconds("search_seconds", DEFAULT_SEARCH_SECONDS),
        ranking=RankingSettings(
            texts.number_up_to("anchor_weight", ranking.anchor_weight, _MAX_WEIGHT),
            texts.number_up_to("inlink_weight", ranking.inlink_weight, _MAX_WEIGHT),
        ),
        triples=texts.text("triples", ""),
        triples_query=texts.text("triples_query", ""),
        browser=texts.text("browser", ""),
        alerts=AlertSettings(
            *(texts.text(name, "") for name in ("webhook", "alert_command", "thresholds"))
        ),
        users=UserSettings(
            texts.text("users", ""), texts.text("users_file", ""), texts.text("access_token", "")
        ),
        protection=ProtectionSettings(
            texts.number_up_to("rate_limit", 0.0, _MAX_RATE), texts.text("metrics_token", "")
        ),
        public_url=texts.address("public_url"),
        dedup_scope=texts.one_of("dedup_scope", DEDUP_SCOPES),
        embedder=texts.text("embedder", ""),
    )


def _server_settings(texts: "_Texts", cache: str) -> ServerSettings:
    defaults = ServerSettings()
    return ServerSettings(
        prefix=texts.text("prefix", defaults.prefix),
        shards=texts.number("shards", defaults.shards, least=1),
        replicas=texts.number("replicas", defaults.replicas, least=0),
        expected_captures=texts.number("expected_captures", 0, least=0),
        partial=texts.truth("partial"),
        api_key=texts.text("api_key", ""),
        username=texts.text("username", ""),
        password=texts.text("password", ""),
        ca_file=texts.text("ca_file", ""),
        verify=not texts.truth("insecure"),
        timeout_seconds=texts.seconds("timeout", defaults.timeout_seconds),
        cache=texts.text("cache", cache),
    )


def build_folder(settings: ServerSettings, address: str, index: str) -> Path:
    """Return the cache folder of an index built on a server: `index` is facets or inlinks."""
    name = hashlib.blake2b(f"{address} {settings.prefix}".encode(), digest_size=8).hexdigest()
    return cache_folder(settings.cache) / f"{index}-{name}"


def cache_folder(cache: str = "") -> Path:
    """Return the cache folder: below `cache`, else that of the environment or the home folder."""
    named = cache or os.environ.get(VARIABLES["cache"]) or os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "nwx"


class _Texts:
    """Parses settings from their texts."""

    def __init__(self, given: Mapping[str, str | None], environment: Mapping[str, str]) -> None:
        self._given, self._environment = given, environment

    def text(self, name: str, default: str) -> str:
        value = self._given.get(name)
        return value or self._environment.get(VARIABLES[name]) or default

    def number(self, name: str, default: int, least: int) -> int:
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdigit()) or int(text) < least:
            raise self._error(name, text, f"a whole number, {least} or more")
        return int(text)

    def seconds(self, name: str, default: float) -> float:
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError as error:
            raise self._error(name, text, "a number of seconds") from error
        if not 0 < value < 86_400:
            raise self._error(name, text, "a number of seconds, above 0 and below a day")
        return value

    def number_up_to(self, name: str, default: float, most: int) -> float:
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError as error:
            raise self._error(name, text, "a number") from error
        if not 0 <= value <= most:
            raise self._error(name, text, f"a number from 0 to {most:,}")
        return value

    def address(self, name: str) -> str:
        text = self.text(name, "")
        if text and not _PUBLIC_URL.fullmatch(text):
            raise self._error(name, text, "an address such as https://archive.example")
        return text.rstrip("/")

    def truth(self, name: str) -> bool:
        text = self.text(name, "").lower()
        if text not in (*_TRUE, *_FALSE):
            raise self._error(name, text, "1 or 0")
        return text in _TRUE

    def one_of(self, name: str, values: tuple[str, ...]) -> str:
        text = self.text(name, "")
        if text and text not in values:
            raise self._error(name, text, " or ".join(values))
        return text

    def _error(self, name: str, text: str, wanted: str) -> SettingsError:
        place = name.replace("_", "-") if self._given.get(name) else VARIABLES[name]
        return SettingsError(f"{place} is {text!r}; expected {wanted}")
