"""The Vega panels of the saved objects, and Elasticsearch's answers to their queries."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nwx.exports.kibana import saved_objects
from nwx.facets.criteria import Criterion
from nwx.facets.question import Feature


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart: combinations of `by`, of one status or by status, the `top` by a feature or all."""

    name: str
    feature: Feature
    by: tuple[Criterion, ...]
    status: str = "ok"
    top: int = 0

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria whose values appear in the rows."""
        return self.by if self.status else (*self.by, Criterion.STATUS)

    def spec(self, prefix: str = "nwx") -> dict[str, Any]:
        """Return the specification as Kibana reads it from the saved object."""
        id = f"{prefix}-{self.name}"
        (saved,) = (each for each in saved_objects(prefix) if each["id"] == id)
        state = json.loads(saved["attributes"]["visState"])
        spec: dict[str, Any] = json.loads(state["params"]["spec"])
        return spec


PANELS = (
    Panel("captures-by-month", Feature.CAPTURES, (Criterion.MONTH,), ""),
    Panel("duplication-by-month", Feature.DUPLICATION_RATIO, (Criterion.MONTH,)),
    Panel("bytes-by-type", Feature.BYTES, (Criterion.TYPE,), top=20),
    Panel("top-sites", Feature.UNIQUE_DOCUMENTS, (Criterion.SITE,), top=20),
    Panel("sites-by-bytes", Feature.BYTES, (Criterion.SITE,), top=50),
    Panel("size-categories", Feature.CAPTURES, (Criterion.SIZE,), ""),
    Panel("top-level-domains", Feature.UNIQUE_URLS, (Criterion.TLD,), top=20),
    Panel("types-by-month", Feature.BYTES, (Criterion.MONTH, Criterion.TYPE)),
)


def source_of(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a specification that defines its data source."""
    data = spec["data"]
    found: dict[str, Any] = data[0] if isinstance(data, list) else data
    return found


def with_hits(spec: dict[str, Any], hits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the specification with hits in place of its query."""
    source = source_of(spec)
    del source["url"], source["format"]
    source["values"] = hits
    return spec


def hits_of(panel: Panel, entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the hits of a panel's query among the entries of the facets index."""
    asked = source_of(panel.spec())["url"]["body"]
    terms = [clause["term"] for clause in asked["query"]["bool"]["filter"]]
    ((field, direction),) = asked["sort"][0].items()
    found = [
        entry
        for entry in entries
        if all(entry.get(name) == value for term in terms for name, value in term.items())
    ]
    found.sort(key=lambda entry: entry[field], reverse=direction == "desc")
    return [{"_source": dict(entry)} for entry in found[: asked["size"]]]
