"""Packs a selection of an archive into a WACZ file."""

from nwx.packing.pack import PackOptions, PackReport, pack
from nwx.packing.selection import Selection

__all__ = ["PackOptions", "PackReport", "Selection", "pack"]
