"""Lists of repairs as files: CSV and JSON."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from json import dumps

from nwx.quality.repairs.repair_list import Repair, RepairCounts
from nwx.values.csv_cells import csv_line

REPAIR_COLUMNS = ("url", "kind", "pages", "whole", "checked", "status")


def csv_of_repairs(repairs: Iterable[Repair]) -> Iterator[str]:
    """Yield the lines of a CSV file, the names of columns first."""
    yield csv_line(REPAIR_COLUMNS)
    for one in repairs:
        status = "" if one.status is None else one.status
        yield csv_line((one.url, one.kind, one.pages, one.whole, one.checked, status))


def json_of_repairs(
    counts: RepairCounts, repairs: Iterable[Repair], encode: Callable[[object], str] = dumps
) -> Iterator[str]:
    """Yield the pieces of a JSON object: the counts, and the repairs, one a line."""
    yield f'{encode(asdict(counts))[:-1]}, "repairs": ['
    sign = ""
    for one in repairs:
        yield f"{sign}\n  {encode(asdict(one))}"
        sign = ","
    yield "\n]}\n" if sign else "]}\n"
