"""Preloads, in the fork server, the data that all readers need.

Importing this module reads the list of public suffixes and the entry points of plugins, which would
take each new reader half a second of processor time.
"""

import nwx.importing.worker  # noqa: F401
from nwx.plugins import plugins
from nwx.values.urls import url_parts

url_parts("http://example.org/")
plugins("enrichers")
plugins("extractors")
