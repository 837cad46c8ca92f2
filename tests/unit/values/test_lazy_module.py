"""A library that imports more than it needs is loaded without it."""

import subprocess
import sys

import pytest

from nwx.values.lazy_module import loaded_lazily


def test_a_module_is_loaded_when_it_is_used() -> None:
    sys.modules.pop("colorsys", None)
    with loaded_lazily("colorsys"):
        import colorsys as stub
    assert "colorsys" not in sys.modules
    assert stub.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert "colorsys" in sys.modules


def test_a_module_that_is_used_at_once_is_loaded_at_once() -> None:
    sys.modules.pop("colorsys", None)
    with loaded_lazily("colorsys"):
        from colorsys import rgb_to_hsv
    assert rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert "colorsys" in sys.modules


def test_a_loaded_module_stays() -> None:
    with loaded_lazily("sys"):
        import sys as same
    assert same is sys


def test_a_module_that_is_missing_is_told_when_it_is_used() -> None:
    with loaded_lazily("no_such_module"):
        import no_such_module as stub  # type: ignore[import-not-found]
    with pytest.raises(ModuleNotFoundError):
        _ = stub.anything


def test_urlkeys_need_no_http_client() -> None:
    asked = "import sys, nwx.values.surt_package; print('requests' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True)
    assert ran.stdout.strip() == "False"
