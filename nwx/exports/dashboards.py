"""The view of an archive in OpenSearch Dashboards, in the format shared with Kibana.

OpenSearch Dashboards is a fork of Kibana 7.10 and has no Lens: live figures are charts of the
older kind. The objects have the versions of Kibana 7.10, which it accepts and migrates.
"""

import json
from collections.abc import Sequence
from typing import Any

from nwx.exports.kibana import SavedObject, saved_objects

_VERSIONS = {"index-pattern": "7.6.0", "visualization": "7.10.0", "dashboard": "7.9.3"}
_FORMED_BY = "7.10.2"
_SOURCE = "kibanaSavedObjectMeta.searchSourceJSON.index"
_OF_KIBANA = ("managed", "coreMigrationVersion", "typeMigrationVersion")


def dashboards_objects(prefix: str) -> list[SavedObject]:
    """Return the saved objects for the indices of a prefix, referenced objects first."""
    live = {
        f"{prefix}-captures-live": _captures(prefix),
        f"{prefix}-languages-live": _languages(prefix),
    }
    found = [live.get(each["id"], each) for each in saved_objects(prefix)]
    shown = [each for each in found if each["type"] == "visualization"]
    return [
        _dated(_dashboard(each, shown) if each["type"] == "dashboard" else each) for each in found
    ]


def _dated(each: SavedObject) -> SavedObject:
    kept = {name: value for name, value in each.items() if name not in _OF_KIBANA}
    return kept | {"migrationVersion": {each["type"]: _VERSIONS[each["type"]]}}


def _captures(prefix: str) -> SavedObject:
    looks = {"labels": {"show": True}, "metricColorMode": "None", "style": {"fontSize": 60}}
    params = {"type": "metric", "addTooltip": True, "addLegend": False, "metric": looks}
    aggs = [_count("Captures")]
    return _live(prefix, "captures", "Captures (live)", "captures", "metric", params, aggs)


def _languages(prefix: str) -> SavedObject:
    terms = {
        "id": "2",
        "enabled": True,
        "type": "terms",
        "schema": "bucket",
        "params": {
            "field": "content_language",
            "size": 15,
            "order": "desc",
            "orderBy": "1",
            "otherBucket": True,
            "missingBucket": False,
            "customLabel": "Language",
        },
    }
    params = {"perPage": 16, "showTotal": False, "showPartialRows": False}
    title = "Documents by language (live)"
    aggs = [_count("Documents"), terms]
    return _live(prefix, "languages", title, "documents", "table", params, aggs)


def _count(label: str) -> dict[str, Any]:
    params = {"customLabel": label}
    return {"id": "1", "enabled": True, "type": "count", "schema": "metric", "params": params}


def _live(
    prefix: str,
    name: str,
    title: str,
    index: str,
    kind: str,
    params: dict[str, Any],
    aggs: list[dict[str, Any]],
) -> SavedObject:
    empty = {"query": {"query": "", "language": "kuery"}, "filter": []}
    attributes = {
        "title": f"{prefix}: {title}",
        "description": "counted when it is looked at, within the time chosen above",
        "visState": json.dumps({"title": title, "type": kind, "params": params, "aggs": aggs}),
        "uiStateJSON": "{}",
        "version": 1,
        "kibanaSavedObjectMeta": {
            "searchSourceJSON": json.dumps(empty | {"indexRefName": _SOURCE})
        },
    }
    reference = {"name": _SOURCE, "type": "index-pattern", "id": f"{prefix}-{index}"}
    return {
        "type": "visualization",
        "id": f"{prefix}-{name}-live",
        "attributes": attributes,
        "references": [reference],
    }


def _dashboard(each: SavedObject, shown: Sequence[SavedObject]) -> SavedObject:
    panels = [
        {
            "version": _FORMED_BY,
            "gridData": panel["gridData"],
            "panelIndex": panel["panelIndex"],
            "embeddableConfig": {},
            "panelRefName": panel["panelRefName"],
        }
        for panel in json.loads(each["attributes"]["panelsJSON"])
    ]
    references = [
        {"name": panel["panelRefName"], "type": "visualization", "id": one["id"]}
        for panel, one in zip(panels, shown, strict=True)
    ]
    attributes = each["attributes"] | {"panelsJSON": json.dumps(panels)}
    return each | {"attributes": attributes, "references": references}
