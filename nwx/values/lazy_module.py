"""Modules that are loaded on their first use, for libraries that import more than they need."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


@contextmanager
def loaded_lazily(name: str) -> Iterator[None]:
    """Give what is imported meanwhile a module that is loaded only if it is used.

    A module that is loaded already stays as it is; one that is used meanwhile is loaded at once.
    `importlib.util.LazyLoader` does not do for this: until Python 3.13, a second import of its
    modules loads them.
    """
    if name in sys.modules:
        yield
        return
    stub = ModuleType(name)

    def loaded(attribute: str) -> Any:
        _remove(stub)
        return getattr(import_module(name), attribute)

    # PEP 562: asked for attributes that are not there, which are all but those of every module
    vars(stub)["__getattr__"] = loaded
    sys.modules[name] = stub
    try:
        yield
    finally:
        _remove(stub)


def _remove(stub: ModuleType) -> None:
    if sys.modules.get(stub.__name__) is stub:
        del sys.modules[stub.__name__]
