"""Commands about CDX files and ZipNum clusters."""
