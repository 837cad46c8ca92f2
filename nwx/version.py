"""The version of nwx."""

__version__ = "0.1.0"
