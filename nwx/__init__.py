"""nwx makes web archives searchable, measurable and cheap to keep."""

__version__ = "0.1.0"
