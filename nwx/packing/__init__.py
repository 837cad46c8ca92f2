"""Packs a selection of an archive into a WACZ file."""

from nwx.packing.selection import Selection
from nwx.packing.wacz import PackOptions, PackReport, pack

__all__ = ["PackOptions", "PackReport", "Selection", "pack"]
