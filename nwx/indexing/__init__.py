"""CDX and CDXJ files made from archive files."""
