"""Where the rows of a CDX answer come from: an engine, sorted files, ZipNum clusters."""
