"""Renders as WARC files, as Browsertrix writes them."""
