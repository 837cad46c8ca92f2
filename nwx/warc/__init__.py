"""Archive files: WARC, ARC and WACZ, whole and damaged, as records and captures."""
