"""Checking an archive: `agreeing` in itself, and `comparing` it with what CDX files say."""

from nwx.checking.agreeing import Finding, check
from nwx.checking.comparing import Cause, Comparison, Missing

__all__ = ["Cause", "Comparison", "Finding", "Missing", "check"]
