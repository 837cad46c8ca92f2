"""Kibana's view of an archive: data views, charts and a dashboard, as saved objects.

The format is that of Kibana 8.9 and later, including 9: the versions below are the oldest with
all features used, since Kibana accepts older objects and refuses newer ones.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests

from nwx.charts.panels import PANELS, Panel, query, specification
from nwx.engine.indices.declarations import INDICES
from nwx.errors import NwxError, UsageError
from nwx.settings import ServerSettings

SavedObject = dict[str, Any]

CORE_VERSION = "8.8.0"
TYPE_VERSIONS = {
    "index-pattern": "8.0.0",
    "visualization": "8.5.0",
    "lens": "8.9.0",
    "dashboard": "7.17.3",
}
FROM_DATE = "1990-01-01T00:00:00.000Z"
_COLUMNS, _HEIGHT = 48, 15


class KibanaError(NwxError):
    """A Kibana that is unavailable or refuses a request."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """The number of saved objects that a Kibana accepted."""

    objects: int


def saved_objects(prefix: str) -> list[SavedObject]:
    """Return the saved objects for the indices of a prefix, referenced objects first."""
    shown = ((one.name, one.data_view) for one in INDICES.values())
    views = [_data_view(prefix, name, *view) for name, view in shown if view]
    charts = [_vega(prefix, panel) for panel in PANELS]
    live = [_captures_metric(prefix), _languages(prefix)]
    return [*views, *live, *charts, _dashboard(prefix, [*live, *charts])]


def as_lines(objects: Sequence[SavedObject]) -> str:
    """Return saved objects as Kibana imports them: a JSON document a line."""
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
        raise UsageError(f"{address!r} is no address of a Kibana; write http://HOST:5601")
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
            f"kibana at {address} does not let this user in ({answer.status_code}); "
            f"check --api-key, or --username and --password"
        )
    try:
        told = answer.json()
    except requests.JSONDecodeError as error:
        raise KibanaError(
            f"{address} answered {answer.status_code} and what kibana does not: "
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


def _saved(
    type: str,
    id: str,
    attributes: dict[str, Any],
    references: Sequence[dict[str, str]] = (),
) -> SavedObject:
    return {
        "type": type,
        "id": id,
        "attributes": attributes,
        "references": list(references),
        "managed": False,
        "coreMigrationVersion": CORE_VERSION,
        "typeMigrationVersion": TYPE_VERSIONS[type],
    }


def _data_view(prefix: str, index: str, name: str, time_field: str | None) -> SavedObject:
    attributes = {
        "title": f"{prefix}-{index}",
        "name": f"{prefix}: {name}",
        **({"timeFieldName": time_field} if time_field else {}),
        "allowNoIndex": True,
        "sourceFilters": "[]",
        "fields": "[]",
        "fieldAttrs": "{}",
        "fieldFormatMap": json.dumps(_formats(index)),
        "runtimeFieldMap": "{}",
    }
    return _saved("index-pattern", f"{prefix}-{index}", attributes)


def _formats(index: str) -> dict[str, Any]:
    sizes = {
        "captures": ("content_length", "record_length"),
        "documents": ("content_length", "record_length"),
        "facets": ("bytes", "unique_bytes"),
    }
    return {name: {"id": "bytes"} for name in sizes.get(index, ())}


def _search_source() -> dict[str, str]:
    empty = {"query": {"query": "", "language": "kuery"}, "filter": []}
    return {"searchSourceJSON": json.dumps(empty)}


def kibana_spec(prefix: str, panel: Panel) -> dict[str, Any]:
    """Return the Vega specification of a panel with its query, as Kibana understands it."""
    source = {
        "url": {"index": f"{prefix}-facets", "body": query(panel)},
        "format": {"type": "json", "property": "hits.hits"},
    }
    return specification(panel, source)


def _vega(prefix: str, panel: Panel) -> SavedObject:
    spec = json.dumps(kibana_spec(prefix, panel), indent=2)
    state = {"title": panel.title, "type": "vega", "aggs": [], "params": {"spec": spec}}
    attributes = {
        "title": f"{prefix}: {panel.title}",
        "description": "from the combinations that nwx build-facets stored",
        "visState": json.dumps(state),
        "uiStateJSON": "{}",
        "version": 1,
        "kibanaSavedObjectMeta": _search_source(),
    }
    return _saved("visualization", f"{prefix}-{panel.name}", attributes)


_LAYER = "nwx-layer"
_COUNT = {
    "label": "Entries",
    "customLabel": True,
    "dataType": "number",
    "operationType": "count",
    "isBucketed": False,
    "scale": "ratio",
    "sourceField": "___records___",
}


def _captures_metric(prefix: str) -> SavedObject:
    looks = {"layerId": _LAYER, "layerType": "data", "metricAccessor": "count"}
    columns = {"count": {**_COUNT, "label": "Captures"}}
    return _lens(
        prefix, "captures-live", "Captures (live)", "captures", "lnsMetric", looks, columns
    )


def _languages(prefix: str) -> SavedObject:
    terms = {
        "label": "Language",
        "customLabel": True,
        "dataType": "string",
        "operationType": "terms",
        "scale": "ordinal",
        "sourceField": "content_language",
        "isBucketed": True,
        "params": {
            "size": 15,
            "orderBy": {"type": "column", "columnId": "count"},
            "orderDirection": "desc",
            "otherBucket": True,
            "missingBucket": False,
        },
    }
    layer = {
        "layerId": _LAYER,
        "layerType": "data",
        "seriesType": "bar_horizontal",
        "xAccessor": "language",
        "accessors": ["count"],
    }
    looks = {
        "legend": {"isVisible": False, "position": "right"},
        "valueLabels": "hide",
        "fittingFunction": "None",
        "preferredSeriesType": "bar_horizontal",
        "layers": [layer],
    }
    columns = {"language": terms, "count": {**_COUNT, "label": "Documents"}}
    title = "Documents by language (live)"
    return _lens(prefix, "languages-live", title, "documents", "lnsXY", looks, columns)


def _lens(
    prefix: str,
    name: str,
    title: str,
    index: str,
    kind: str,
    looks: dict[str, Any],
    columns: dict[str, Any],
) -> SavedObject:
    layer = {"columns": columns, "columnOrder": list(columns), "incompleteColumns": {}}
    state = {
        "visualization": looks,
        "query": {"query": "", "language": "kuery"},
        "filters": [],
        "datasourceStates": {"formBased": {"layers": {_LAYER: layer}}},
        "internalReferences": [],
        "adHocDataViews": {},
    }
    reference = {
        "type": "index-pattern",
        "id": f"{prefix}-{index}",
        "name": f"indexpattern-datasource-layer-{_LAYER}",
    }
    attributes = {
        "title": f"{prefix}: {title}",
        "description": "counted when it is looked at, within the time chosen above",
        "visualizationType": kind,
        "state": state,
    }
    return _saved("lens", f"{prefix}-{name}", attributes, [reference])


def _dashboard(prefix: str, shown: Sequence[SavedObject]) -> SavedObject:
    panels, references = [], []
    for number, each in enumerate(shown):
        index = f"panel-{number}"
        width = _COLUMNS // 2
        grid = {
            "x": number % 2 * width,
            "y": number // 2 * _HEIGHT,
            "w": width,
            "h": _HEIGHT,
            "i": index,
        }
        panels.append(
            {
                "type": each["type"],
                "gridData": grid,
                "panelIndex": index,
                "embeddableConfig": {"enhancements": {}},
                "panelRefName": f"panel_{index}",
            }
        )
        name = f"{index}:panel_{index}"
        references.append({"name": name, "type": each["type"], "id": each["id"]})
    attributes = {
        "title": f"{prefix}: the archive",
        "description": "What the archive holds, by month, status, type, site, size and domain",
        "panelsJSON": json.dumps(panels),
        "optionsJSON": json.dumps(
            {"useMargins": True, "syncColors": False, "hidePanelTitles": False}
        ),
        "version": 1,
        # All dates: Kibana would show the last fifteen minutes, and archives are older.
        "timeRestore": True,
        "timeFrom": FROM_DATE,
        "timeTo": "now",
        "kibanaSavedObjectMeta": _search_source(),
    }
    return _saved("dashboard", f"{prefix}-dashboard", attributes, references)
