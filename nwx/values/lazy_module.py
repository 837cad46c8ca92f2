"""Modules that are loaded on their first use, for libraries that import more than they need."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


@contextmanager
def loaded_lazily(name: str) -> Iterator[None]:
    """Give what is imported meanwhile a module that is loaded only if it is used.

    A module that is loaded already stays as it is. `importlib.util.LazyLoader` does not do for
    this: until Python 3.13, a second import of its modules loads them.
    """
    if name in sys.modules:
        yield
        return
    stub = ModuleType(name)
    # PEP 562: asked for attributes that are not there, which are all but those of every module
    vars(stub)["__getattr__"] = lambda attribute: getattr(import_module(name), attribute)
    sys.modules[name] = stub
    try:
        yield
    finally:
        del sys.modules[name]
