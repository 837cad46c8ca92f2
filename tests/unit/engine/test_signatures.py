"""Every engine method has the signature declared by its interface."""

import inspect
import re
from abc import ABC
from collections.abc import Callable, Iterator

import pytest

from nwx.access.restricted_entries import RestrictedStore
from nwx.engine import base
from nwx.engine.capabilities import Ledger
from nwx.engine.capture_index import CaptureIndex
from nwx.engine.document_index import DatesBuilder, DatesIndex, DocumentIndex
from nwx.engine.embedded.built_stores import EmbeddedFacetStore
from nwx.engine.embedded.date_folders import FolderBuilder
from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.engine.embedded.entries.crawl_index import EmbeddedCrawlIndex
from nwx.engine.embedded.entries.crawl_queue import EmbeddedCrawlQueue, EmbeddedOutbox
from nwx.engine.embedded.entries.store import EmbeddedEntryStore
from nwx.engine.facet_store import BlobStore, FacetStore, LiveSelection
from nwx.engine.indices.crawl_index import CrawlIndex
from nwx.engine.indices.crawl_queue import CrawlQueue, UpdateOutbox
from nwx.engine.indices.entry_store import EntryStore
from nwx.engine.search_server.built_stores import ServerFacetStore, ServerLiveSelection
from nwx.engine.search_server.date_indices import IndexBuilder
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.entries.crawl_index import ServerCrawlIndex
from nwx.engine.search_server.entries.crawl_queue import ServerCrawlQueue, ServerOutbox
from nwx.engine.search_server.entries.store import ServerEntryStore

CAPABILITIES = (DocumentIndex, CaptureIndex, DatesIndex, Ledger)
_MODULES = re.compile(r"\b(?:[a-z_]+\.)+")
KEPT: dict[type[ABC], tuple[type, ...]] = {
    base.Engine: (EmbeddedEngine, SearchServerEngine),
    FacetStore: (EmbeddedFacetStore, ServerFacetStore),
    CrawlIndex: (EmbeddedCrawlIndex, ServerCrawlIndex),
    EntryStore: (EmbeddedEntryStore, ServerEntryStore, RestrictedStore),
    CrawlQueue: (EmbeddedCrawlQueue, ServerCrawlQueue),
    UpdateOutbox: (EmbeddedOutbox, ServerOutbox),
    DatesBuilder: (FolderBuilder, IndexBuilder),
    LiveSelection: (ServerLiveSelection,),
}
"""The interfaces and their implementations; a new engine adds its classes."""


def interfaces(of: type[ABC]) -> Iterator[type]:
    for one in of.__mro__:
        if one.__module__.startswith("nwx.engine."):
            yield one


def methods(interface: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, found in vars(interface).items():
        if inspect.isfunction(found) and not name.startswith("_"):
            yield name, found


def parameters(method: Callable[..., object]) -> list[str]:
    """Return the parameters of a method; annotations may be strings with module names."""
    found = inspect.signature(method).parameters.values()
    return [_MODULES.sub("", str(one)).replace("'", "") for one in found]


CASES = [
    (name, method, kept)
    for interface, classes in KEPT.items()
    for one in interfaces(interface)
    for name, method in methods(one)
    for kept in classes
]


@pytest.mark.parametrize(
    ("name", "method", "kept"), CASES, ids=[f"{kept.__name__}.{name}" for name, _, kept in CASES]
)
def test_signatures_are_those_of_the_interface(
    name: str, method: Callable[..., object], kept: type
) -> None:
    assert parameters(getattr(kept, name)) == parameters(method)


@pytest.mark.parametrize("kept", [one for classes in KEPT.values() for one in classes])
def test_nothing_of_the_interface_is_missing(kept: type) -> None:
    assert not inspect.isabstract(kept)


@pytest.mark.parametrize("engine", KEPT[base.Engine])
def test_an_engine_has_no_public_methods_of_its_own(engine: type) -> None:
    known = {name for one in interfaces(base.Engine) for name, _ in methods(one)}
    assert {name for name, _ in methods(engine)} <= known


def test_an_engine_is_its_capabilities() -> None:
    assert set(CAPABILITIES) <= set(base.Engine.__mro__)
    assert set(BlobStore.__abstractmethods__) <= set(FacetStore.__abstractmethods__)
    for capability in CAPABILITIES:
        assert capability.__abstractmethods__, capability


@pytest.mark.parametrize("engine", KEPT[base.Engine])
def test_an_engine_declares_in_what_it_differs(engine: type[base.Engine]) -> None:
    assert isinstance(engine.traits, base.EngineTraits)
