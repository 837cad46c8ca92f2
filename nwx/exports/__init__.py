"""Packs a selection of an archive into a WACZ file, or its records into a WARC file."""

from nwx.exports.wacz import PackOptions, PackReport, pack
from nwx.exports.wacz_selection import WaczSelection
from nwx.exports.warc_file import pack_warc

__all__ = ["PackOptions", "PackReport", "WaczSelection", "pack", "pack_warc"]
