"""What readers need, loaded once by the server of processes that they are forked from.

Importing it reads the list of public suffixes and the entry points of plugins: half a second of a
processor, which each new reader would take for itself.
"""

import nwx.importing.worker  # noqa: F401
from nwx.plugins import plugins
from nwx.values.urls import url_parts

url_parts("http://example.org/")
plugins("enrichers")
plugins("extractors")
