"""Commands for CDX files and ZipNum clusters."""
