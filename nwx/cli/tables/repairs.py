"""What the repair of a cluster did, in words."""

from nwx.cli.output import clean, counted
from nwx.zipnum.repairs import RepairReport


def repair_words(report: RepairReport) -> str:
    """Return what was repaired, in words."""
    what = "data and index were" if report.rewritten else "the index was"
    words = f"{what} written anew"
    counts = (
        f"{counted(report.lines, 'line')} in {counted(report.blocks, 'block')} of "
        f"{counted(report.shards, 'file')}"
    )
    if report.torn:
        words += (
            f"; {report.torn:,} torn blocks, of which {counted(report.saved, 'line')} were saved"
        )
    if report.unsorted:
        words += f"; {counted(report.unsorted, 'block')} or files were out of order"
    if report.missing:
        words += f"; {', '.join(map(clean, report.missing))} not found, other files taken"
    return f"{words}: {counts}"
