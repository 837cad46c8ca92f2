"""Exports; the face has packing: a selection of an archive as a WACZ, or its records as a WARC."""

from nwx.exports.wacz import PackOptions, PackReport, pack, pack_warc
from nwx.exports.wacz_selection import WaczSelection

__all__ = ["PackOptions", "PackReport", "WaczSelection", "pack", "pack_warc"]
