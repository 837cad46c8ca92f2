"""Packs a selection of an archive into a WACZ file, or its records into a WARC file."""

from nwx.exports.wacz import PackOptions, PackReport, pack, pack_warc
from nwx.exports.wacz_selection import WaczSelection

__all__ = ["PackOptions", "PackReport", "WaczSelection", "pack", "pack_warc"]
