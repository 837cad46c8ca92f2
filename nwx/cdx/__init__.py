"""Lines of capture indexes (CDX, CDXJ, ZipNum), read line by line or by column."""
