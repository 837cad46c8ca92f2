"""Parts that other packages add, found by their entry points.

Groups are `nwx.extractors`, `nwx.enrichers`, `nwx.exporters` and `nwx.commands`. Entry points
are read only when nwx itself lacks the requested part: that takes as long as reading the
metadata of all installed packages.
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from nwx.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def plugins(group: str) -> "Mapping[str, EntryPoint]":
    """Return the entry points of a group (`extractors`) by their names."""
    # Imported here: it takes longer to load than a short command does.
    from importlib.metadata import entry_points

    return {one.name: one for one in sorted(entry_points(group=f"nwx.{group}"))}


@cache
def plugin(group: str, name: str) -> Callable[..., Any] | None:
    """Return the part that a package registered under a name, None if there is none.

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
    """Return the plugin that extracts text from a MIME type, None if no package does.

    Plugins are named after a family (`image`) or a type, where `*` matches anything
    (`application/epub+zip`, `image/*`).
    """
    for name in plugins("extractors"):
        if fnmatchcase(content_type if "/" in name else family, name):
            return plugin("extractors", name)
    return None


def enricher_plugins() -> Iterator[Callable[..., Any]]:
    """Yield the functions that change extracts, in the order of names."""
    for name in plugins("enrichers"):
        found = plugin("enrichers", name)
        if callable(found):
            yield found
