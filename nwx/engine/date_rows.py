"""Dates of documents as arrays, a row for each, and which of them meet a condition."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from nwx.data_classes import dataclass
from nwx.query.question import DateCondition, HiddenSpan, SeenDate
from nwx.values.timestamps import Period

DateNumbers = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]
LAST_TIME = 99_999_999_999_999
_DIGITS = 14


@dataclass(frozen=True, slots=True)
class DateRows:
    """One row per date: the number of its document, its timestamp, its collection's code.

    `codes` are the codes of collections, which several such tables may share.
    """

    places: DateNumbers
    times: DateNumbers
    collections: DateNumbers
    codes: Mapping[str, int]

    def that_meet(self, one: DateCondition) -> Chosen:
        """Return for each row whether it meets a condition."""
        fits = np.ones(len(self.times), dtype=bool)
        if one.spans is not None:
            fits[:] = False
            for low, high in one.spans:
                fits |= (self.times >= int(low or 0)) & (self.times <= int(high or LAST_TIME))
        if one.collections:
            wanted = [self.codes[name] for name in one.collections if name in self.codes]
            fits &= np.isin(self.collections, wanted)
        return fits

    def meeting(self, one: DateCondition) -> DateNumbers:
        """Return the places of the documents that have a date which meets a condition."""
        return np.unique(self.places[self.that_meet(one)])

    def within(self, spans: Collection[HiddenSpan]) -> Chosen:
        """Return for each row whether it is within any of the spans."""
        fits = np.zeros(len(self.times), dtype=bool)
        for span in spans:
            inside = (self.times >= int(span.first)) & (self.times <= int(span.last))
            if span.collection:
                inside &= self.collections == self.codes.get(span.collection, -1)
            fits |= inside
        return fits

    def periods(self, period: Period) -> DateNumbers:
        """Return the period of each row, as a number: 2013, or 201301."""
        found: DateNumbers = self.times // 10 ** (_DIGITS - period.digits)
        return found


def date_rows(dates: Sequence[Sequence[SeenDate]], codes: dict[str, int]) -> DateRows:
    """Return the rows of documents in order, each given by its dates; adds to `codes`."""
    pairs = [pair for some in dates for pair in some]
    return DateRows(
        np.repeat(np.arange(len(dates)), np.fromiter(map(len, dates), np.int64, len(dates))),
        np.fromiter((int(time) for time, _ in pairs), np.int64, len(pairs)),
        np.fromiter(
            (codes.setdefault(name, len(codes)) for _, name in pairs), np.int64, len(pairs)
        ),
        codes,
    )
