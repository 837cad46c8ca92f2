"""Modules loaded before readers start."""

import importlib

from nwx import plugins
from nwx.values import urls


def test_suffixes_and_plugins_are_loaded_once() -> None:
    urls.host_parts.cache_clear()
    urls._suffixes.cache_clear()
    plugins.plugins.cache_clear()
    importlib.reload(importlib.import_module("nwx.importing.preload"))
    assert urls._suffixes.cache_info().currsize == 1
    assert plugins.plugins.cache_info().currsize == 2
