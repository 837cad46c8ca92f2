"""Checking an archive: `agreeing` in itself, and `comparing` it with what CDX files say."""

from nwx.checks.agreement import Disagreement, check
from nwx.checks.cdx_comparison import Cause, Comparison, Missing

__all__ = ["Cause", "Comparison", "Disagreement", "Missing", "check"]
