"""Dates as people write them, as spans of timestamps."""

import calendar
import re
from datetime import datetime

from nwx.errors import ErrorText, TimestampError

_DATE = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[T ]?(\d\d)(?::?(\d\d)(?::?(\d\d)Z?)?)?)?)?)?", re.ASCII
)


def date_span(text: str) -> tuple[str, str]:
    """Return the first and the last timestamp (14 digits) of a year, month, day, hour …

    `text` is `2010`, `2010-03`, `2010-03-05`, `2010-03-05T12:30` or the same
    digits without signs, down to seconds.
    Raises TimestampError on anything else, impossible dates included.
    """
    match = _DATE.fullmatch(text.strip())
    if not match:
        raise TimestampError(
            ErrorText("%(text)s is no date; write 2010, 2010-03 or 2010-03-05", text=repr(text))
        )
    parts = [int(part) for part in match.groups() if part is not None]
    try:
        first = datetime(*(parts + [1, 1, 0, 0, 0][len(parts) - 1 :]))  # type: ignore[arg-type]
    except ValueError as error:
        raise TimestampError(
            ErrorText("%(text)s is no date: %(reason)s", text=repr(text), reason=error)
        ) from error
    last_day = calendar.monthrange(parts[0], parts[1] if len(parts) > 1 else 12)[1]
    highest = [12, last_day, 23, 59, 59]
    last = parts + highest[len(parts) - 1 :]
    return f"{first:%Y%m%d%H%M%S}".rjust(14, "0"), "{:04}{:02}{:02}{:02}{:02}{:02}".format(*last)
