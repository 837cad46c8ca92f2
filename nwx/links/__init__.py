"""Inverted links: the pages that link to a URL, their anchors, and missing URLs."""
