"""The only reader of the environment and of configuration files."""

import os
from dataclasses import dataclass

DEFAULT_ENGINE = "archive"


@dataclass(frozen=True, slots=True)
class ElasticSettings:
    """How to reach and shape the indices on Elasticsearch."""

    prefix: str = "nwx"
    shards: int = 1
    replicas: int = 0
    api_key: str = ""
    username: str = ""
    password: str = ""
    ca_file: str = ""
    verify: bool = True
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the archive lives: a folder, or an http(s) address."""

    engine: str = DEFAULT_ENGINE
    elastic: ElasticSettings = ElasticSettings()


def engine_from_environment() -> str:
    """Return `NWX_ENGINE`, or the folder `archive` here."""
    return os.environ.get("NWX_ENGINE") or DEFAULT_ENGINE
