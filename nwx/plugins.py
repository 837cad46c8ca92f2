"""Plugins of other packages, found by their entry points.

Groups are `nwx.extractors`, `nwx.enrichers`, `nwx.exporters` and `nwx.commands`. They are read only
if nwx itself lacks the requested part: this reads the metadata of all installed packages.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from nwx.errors import UsageError
from nwx.model import Extract

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def plugins(group: str) -> "Mapping[str, EntryPoint]":
    """Return the entry points of a group (such as `extractors`) by name."""
    return {one.name: one for one in sorted(_entry_points().select(group=f"nwx.{group}"))}


@cache
def _entry_points() -> Any:
    # Imported here: loading it takes longer than a short command.
    from importlib.metadata import entry_points

    return entry_points()


@cache
def plugin(group: str, name: str) -> Callable[..., Any] | None:
    """Return the plugin registered under a name, None if there is none.

    Raises UsageError if it cannot be loaded.
    """
    point = plugins(group).get(name)
    if point is None:
        return None
    refused = f"the plugin {point.value} of nwx.{group} cannot be loaded"
    with UsageError.instead_of((ImportError, AttributeError), refused):
        found: Callable[..., Any] = point.load()
    return found


def extractor_plugin(content_type: str, family: str) -> Callable[..., Any] | None:
    """Return the plugin that extracts text from a MIME type, None if there is none.

    Plugins are named after a family (`image`) or a type, in which `*` matches anything
    (`application/epub+zip`, `image/*`).
    """
    for name in plugins("extractors"):
        if fnmatchcase(content_type if "/" in name else family, name):
            return plugin("extractors", name)
    return None


def enricher_plugins() -> Iterator[Callable[..., Any]]:
    """Yield the enricher plugins, which change extracts, in the order of their names."""
    for name in plugins("enrichers"):
        found = plugin("enrichers", name)
        if callable(found):
            yield found


def checked_extract(found: object) -> Extract:
    """Return the extract of a plugin; raises TypeError if it is not one, or a text of it is not."""
    if not isinstance(found, Extract):
        raise TypeError(f"a plugin returned {found!r:.100}, which is not an Extract")
    for one in fields(Extract):
        value = getattr(found, one.name)
        if one.default == "" and not isinstance(value, str):
            raise TypeError(f"a plugin returned an Extract whose {one.name} is {value!r:.100}")
    return found
