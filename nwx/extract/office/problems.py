"""Why reading an office file ends before its end."""


class Stop(Exception):  # noqa: N818 - what was read until then counts
    """A limit is reached; what was read until then counts. The message is a problem, or empty."""
