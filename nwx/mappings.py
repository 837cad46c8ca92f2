"""The mappings of the indices, shared by all engines."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from nwx.model import IndexName


def mapping_file(name: str) -> str:
    """Return the text of a file below `mappings/`, from the wheel or from a checkout."""
    packaged = Path(__file__).parent / "mappings_data" / name
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parent.parent / "mappings" / name).read_text(encoding="utf-8")


@cache
def mapping(index: IndexName) -> dict[str, Any]:
    """Return the mapping of an index in Elasticsearch's format; do not modify it."""
    loaded: dict[str, Any] = json.loads(mapping_file(f"{index}.json"))
    return loaded


def properties(index: IndexName) -> dict[str, dict[str, Any]]:
    """Return the fields of an index and their types."""
    fields: dict[str, dict[str, Any]] = mapping(index)["mappings"]["properties"]
    return fields


def version(index: IndexName) -> int:
    """Return the version of a mapping, which an engine stores with the index."""
    number: int = mapping(index)["mappings"]["_meta"]["version"]
    return number


FieldValue = str | tuple[str | int, ...]
"""The value of an enricher's field."""

OTHER_FIELDS = "other_fields"
"""The field that collects fields without a mapping, each as `name=value`."""


@cache
def enriched_fields(*, searched: bool = False) -> dict[str, str]:
    """Return the types of document fields made by enrichers, with `searched` only indexed ones."""
    return {
        name: field["type"]
        for name, field in properties(IndexName.DOCUMENTS).items()
        if field.get("meta", {}).get("made_by") == "enrichers"
        and (field.get("index", True) or not searched)
    }


@cache
def elided_articles() -> frozenset[str]:
    """Return the articles that are removed together with the apostrophe after them (`l'`)."""
    analysis = mapping(IndexName.DOCUMENTS)["settings"]["analysis"]
    return frozenset(analysis["filter"]["elision"]["articles"])
