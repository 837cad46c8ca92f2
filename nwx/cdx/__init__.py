"""Lines of capture indexes: CDX, CDXJ and ZipNum, one by one and in columns."""
