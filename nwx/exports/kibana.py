"""Data views, charts and a dashboard of an archive for Kibana, as saved objects.

`mappings/kibana` has them for the prefix `nwx`, in the format of Kibana 8.9 and later, including 9:
their versions are the oldest with all features used, since Kibana accepts older objects and
refuses newer ones. OpenSearch Dashboards, a fork of Kibana 7.10, has no Lens: its objects have
the versions of 7.10, and its live figures are charts of the older kind.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests

from nwx.errors import NwxError, UsageError
from nwx.mappings import mapping_file
from nwx.settings import ServerSettings

SavedObject = dict[str, Any]

_PREFIX = re.compile(r"\bnwx(?=: |-(?!layer))")


class KibanaError(NwxError):
    """Kibana is unavailable or refuses a request."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """The number of saved objects that a Kibana accepted."""

    objects: int


def saved_objects(prefix: str) -> list[SavedObject]:
    """Return the saved objects for the indices of a prefix, referenced objects first."""
    return _with_prefix("kibana/nwx.ndjson", prefix)


def dashboards_objects(prefix: str) -> list[SavedObject]:
    """Return the saved objects for OpenSearch Dashboards, referenced objects first."""
    return _with_prefix("kibana/dashboards.ndjson", prefix)


def _with_prefix(name: str, prefix: str) -> list[SavedObject]:
    lines = _PREFIX.sub(lambda _: prefix, mapping_file(name)).splitlines()
    return [json.loads(line) for line in lines]


def as_lines(objects: Sequence[SavedObject]) -> str:
    """Return saved objects in Kibana's import format: one JSON document per line."""
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in objects)


def push(
    address: str,
    settings: ServerSettings,
    objects: Sequence[SavedObject],
    *,
    space: str = "",
    overwrite: bool = True,
) -> Pushed:
    """Upload saved objects to a Kibana, with the credentials of the settings.

    Works for OpenSearch Dashboards too, which has no spaces. With `overwrite`, objects of an
    earlier upload are replaced. Raises KibanaError if it is unavailable, denies access, or refuses
    some objects.
    """
    if not address.startswith(("http://", "https://")):
        raise UsageError(f"{address!r} is not the address of a Kibana; write http://HOST:5601")
    lines = as_lines(objects)
    within = f"/s/{quote(space, safe='')}" if space else ""
    with KibanaError.instead_of(requests.RequestException, f"no kibana answers at {address}"):
        answer = requests.post(
            f"{address.rstrip('/')}{within}/api/saved_objects/_import",
            params={"overwrite": "true" if overwrite else "false"},
            headers={"kbn-xsrf": "nwx", "osd-xsrf": "nwx", **_authorization(settings)},
            auth=(settings.username, settings.password) if settings.username else None,
            files={"file": ("nwx.ndjson", lines.encode(), "application/ndjson")},
            verify=settings.ca_file or settings.verify,
            timeout=settings.timeout_seconds,
        )
    return _taken(address, answer)


def _authorization(settings: ServerSettings) -> dict[str, str]:
    return {"Authorization": f"ApiKey {settings.api_key}"} if settings.api_key else {}


def _taken(address: str, answer: requests.Response) -> Pushed:
    if answer.status_code in (401, 403):
        raise KibanaError(
            f"kibana at {address} rejects this user ({answer.status_code}); "
            "check the API key, or user name and password"
        )
    try:
        told = answer.json()
    except requests.JSONDecodeError as error:
        raise KibanaError(
            f"{address} answered {answer.status_code}, which is not an answer of kibana: "
            f"{answer.text[:200]!r}"
        ) from error
    if not isinstance(told, dict) or not told.get("success"):
        raise KibanaError(f"kibana at {address} refuses ({answer.status_code}): {_reason(told)}")
    return Pushed(int(told["successCount"]))


def _reason(told: Any) -> str:
    if not isinstance(told, dict):
        return str(told)[:200]
    errors = [
        f"{error.get('type')} {error.get('id')}: {error.get('error', {}).get('type')}"
        for error in told.get("errors", ())
    ]
    return "; ".join(errors[:5]) or str(told.get("message", "no reason given"))
