"""Packs a selection of an archive into a WACZ file."""

from nwx.exports.wacz import PackOptions, PackReport, pack
from nwx.exports.wacz_selection import WaczSelection

__all__ = ["PackOptions", "PackReport", "WaczSelection", "pack"]
