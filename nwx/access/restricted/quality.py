"""The index quality as a viewer may see it."""

from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.quality.quality_index import QualityIndex


def restricted_quality(engine: Engine, decisions: Decisions) -> QualityIndex:
    """Return how the captures play that a viewer may see."""
    del decisions
    return engine.quality_index()
