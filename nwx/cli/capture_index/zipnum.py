"""nwx zipnum"""

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.bulk.resources import processors
from nwx.cli import option
from nwx.cli.deduplicate.list_options import SIZE, list_output, print_problems, resources_of
from nwx.cli.options import cluster_options, cluster_options_of, lines_option
from nwx.cli.output import clean, counted, print_json, progress_bar, size_words, warn, warn_first
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT

if TYPE_CHECKING:
    from nwx.cdx.inputs import CdxSource
    from nwx.zipnum.builds import ClusterBuildReport
    from nwx.zipnum.cluster import Cluster
    from nwx.zipnum.repairs import RepairReport
    from nwx.zipnum.verification import ClusterFault, VerifyReport


_PROBLEMS_SHOWN = 20
_LINES_AS_BEFORE = option.count(
    "--lines", "N", "Lines per new block.  [default: as in the first block]"
)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_JOBS = option.count("--jobs --cores", "N", "Number of processes.  [default: number of cores]")
_work_options = option.option_set(
    option.value(
        "--memory",
        SIZE,
        None,
        "Memory limit of all processes; the rest goes to disk, in the cluster's folder.",
        default="512M",
    ),
    _JOBS,
    option.JSON_REPORT,
)


@click.group("zipnum")
def command() -> None:
    """Build, read, verify and repair ZipNum clusters."""


@command.command("build")
@click.argument("out", type=_FOLDER)
@click.argument("files", metavar="CDX...", nargs=-1)
@cluster_options
@_work_options
def build_cluster_command(
    out: Path,
    files: tuple[str, ...],
    memory: int,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Build a cluster in the folder OUT from CDX or CDXJ files.

    The files may be plain, gzip or zstd, sorted or not; - is standard input.
    OUT gets data files (cdx-00000.gz …), an index of each (part-00000 …),
    cluster.idx, cluster.loc and cluster.splits. pywb reads them in the folder
    indexes/ of a collection. If interrupted, run the same command again to
    resume. Identical lines are kept once.
    """
    from nwx.zipnum.builds import build_cluster

    sources, options = _sources(files), cluster_options_of(**given)
    with progress_bar(quiet=quiet) as progress:
        report = build_cluster(out, sources, options, resources_of(memory, None, jobs), progress)
    return _print_build(report, as_json=as_json, quiet=quiet)


def _sources(files: tuple[str, ...]) -> "list[CdxSource]":
    from nwx.cdx.inputs import CdxSource

    if not files:
        raise UsageError("there is nothing to read; name CDX files, or - for standard input")
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    return [
        CdxSource(file, name="standard input" if file == STANDARD_INPUT else file) for file in files
    ]


def _print_build(report: "ClusterBuildReport", *, as_json: bool, quiet: bool) -> int:
    from nwx.zipnum.merges import MergeReport

    print_problems(report.problems, report.problems_total)
    for damage in report.damaged[:_PROBLEMS_SHOWN]:
        warn(damage)
    if as_json:
        from nwx.cdx.inputs import record_json

        print_json(record_json(report))
    elif not quiet:
        new = " new" if isinstance(report, MergeReport) else ""
        blocks = f"{counted(report.blocks, 'block')} of {counted(report.shards, 'file')}"
        counts = [f"{report.lines:,}{new} lines in {blocks}"]
        if report.repeated:
            counts.append(f"{report.repeated:,} repeated lines left out")
        if report.problems_total:
            counts.append(f"{report.problems_total:,} that cannot be read")
        if report.damaged:
            counts.append(f"{len(report.damaged):,} files not read to their end")
        click.echo(", ".join(counts))
    if not report.is_fruitless:
        return 0
    warn("no line could be read; nothing was written")
    return 1


@command.command("merge")
@click.argument("cluster", type=click.Path(path_type=Path, exists=True))
@click.argument("files", metavar="CDX...", nargs=-1)
@_LINES_AS_BEFORE
@_work_options
def merge_command(
    cluster: Path,
    files: tuple[str, ...],
    lines: int | None,
    memory: int,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Merge CDX or CDXJ files into CLUSTER, a folder or an index.

    Only the new lines are sorted. Data files without new lines are not
    changed; in the others, blocks without new lines are copied. Readers see the
    old cluster until the new one is complete.
    """
    from nwx.zipnum.merges import merge_lines

    sources = _sources(files)
    with progress_bar(quiet=quiet) as progress:
        report = merge_lines(
            cluster,
            sources,
            resources_of(memory, None, jobs),
            lines_a_block=lines,
            progress=progress,
        )
    return _print_build(report, as_json=as_json, quiet=quiet)


_ALLOW = option.repeated(
    "--allow",
    "PLACE",
    "Folder or address prefix outside the cluster that its .loc file may point to.",
)
_LIMIT = option.count("--limit", "N", "Maximum number of lines.")


@command.command("verify")
@click.argument("cluster")
@_ALLOW
@_JOBS
@option.flag("--json", "Print JSON.", into="as_json")
@option.NO_PROGRESS
def verify_command(
    cluster: str, allow: tuple[str, ...], jobs: int | None, as_json: bool, quiet: bool
) -> int:
    """Verify every byte of a cluster; the exit code is 1 if anything is wrong.

    Reported are index lines without a line number or with a wrong one, wrong
    offsets and lengths, damaged blocks, unsorted lines, bytes that no index
    line covers, a missing or wrong .loc file, digests that do not match (in
    WACZ files), and leftovers of a killed command.
    """
    from nwx.zipnum.verification import verify_cluster

    with progress_bar(quiet=quiet) as progress:
        report = verify_cluster(cluster, allow, workers=jobs or processors(), progress=progress)
    if as_json:
        print_json({**asdict(report), "counts": dict(report.counts)})
    else:
        _print_verified(report)
    return 1 if report.counts else 0


def _print_verified(report: "VerifyReport") -> None:
    total = report.counts.total()
    warn_first(map(_fault_line, report.faults), _PROBLEMS_SHOWN, total, "fault")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.counts.items()))
    click.echo(
        f"{counted(report.lines, 'line')} in {counted(report.blocks, 'block')} of "
        f"{counted(report.files, 'file')}: "
        + (f"{counted(total, 'fault')} ({kinds})" if total else "no faults")
    )


def _fault_line(fault: "ClusterFault") -> str:
    place = fault.file if fault.offset is None else f"{fault.file} at {fault.offset}"
    return f"{place}: {fault.message} ({fault.kind})"


@command.command("repair")
@click.argument("cluster", type=click.Path(path_type=Path, exists=True))
@lines_option
@_work_options
def zipnum_repair(
    cluster: Path, lines: int, memory: int, jobs: int | None, as_json: bool, quiet: bool
) -> int:
    """Repair CLUSTER, a folder or an index.

    The index and the .loc file are rebuilt from the data files that they name or, if these
    are missing, from the .gz files of lines next to them. Data files with damaged or
    unsorted blocks are rewritten with all readable lines; the old files are deleted when
    the new ones are complete.
    """
    from nwx.zipnum.repairs import repair_cluster

    with progress_bar(quiet=quiet) as progress:
        report = repair_cluster(
            cluster,
            resources_of(memory, None, jobs),
            lines_a_block=lines,
            progress=progress,
        )
    if as_json:
        from nwx.cdx.inputs import record_json

        print_json(record_json(report))
    elif not quiet:
        click.echo(repair_words(report))
    return 0


@command.command("convert")
@click.argument("cluster")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    required=True,
    type=option.HintedChoice(["zipnum", "wacz", "cdx"]),
    help="A cluster, the index of a WACZ, or plain lines (gzip if the name ends in .gz).",
)
@_ALLOW
def convert_command(cluster: str, out: Path, form: str, allow: tuple[str, ...]) -> int:
    """Convert a cluster to another format.

    CLUSTER is a folder, an index, a WACZ, or an address. OUT is a folder for
    --to zipnum and --to wacz, and a file or - for --to cdx. Blocks are copied
    unchanged, so --to zipnum and --to wacz are fast. Use nwx zipnum build to
    make a cluster from CDX lines.
    """
    from nwx.zipnum.cluster import open_cluster
    from nwx.zipnum.publication import to_cluster, to_wacz_form

    with open_cluster(cluster, allow) as opened:
        if form == "cdx":
            _write_lines(opened, out)
            return 0
        done = (to_wacz_form if form == "wacz" else to_cluster)(opened, out)
    click.echo(f"{counted(done.blocks, 'block')}, {size_words(done.bytes)}")
    return 0


def _write_lines(cluster: "Cluster", out: Path) -> None:
    from isal import igzip

    from nwx.zipnum.shards import LEVEL

    with list_output(None if str(out) == STANDARD_INPUT else out) as stream:
        lines = (line + b"\n" for line in cluster.lines())
        if out.suffix == ".gz":
            opened: Any = igzip
            with opened.open(stream, "wb", LEVEL) as zipped:
                zipped.writelines(lines)
        else:
            stream.writelines(lines)


@command.command("get")
@click.argument("cluster")
@click.argument("url")
@_ALLOW
@_LIMIT
def get_command(cluster: str, url: str, allow: tuple[str, ...], limit: int | None) -> int:
    """Print the captures of a URL; the exit code is 1 if there are none.

    CLUSTER is a folder, an index, a WACZ, or the address of one of the first
    two. URL may be a urlkey: org,example)/path.
    """
    key = _key(url).encode("utf-8", "surrogateescape")
    return _print_lines(cluster, allow, key + b" ", key + b"!", limit)


@command.command("prefix")
@click.argument("cluster")
@click.argument("url")
@_ALLOW
@_LIMIT
def prefix_command(cluster: str, url: str, allow: tuple[str, ...], limit: int | None) -> int:
    """Print the captures of all URLs with a prefix; the exit code is 1 if there are none.

    CLUSTER and URL are as for nwx zipnum get. A urlkey without its closing
    bracket includes all hosts below it: org,example is all of example.org.
    """
    from nwx.zipnum.cluster import end_after

    key = _key(url).encode("utf-8", "surrogateescape")
    return _print_lines(cluster, allow, key, end_after(key), limit)


def _key(url: str) -> str:
    """Return the urlkey of a URL; a urlkey is returned unchanged."""
    from nwx.values.urlkeys import urlkey, with_scheme

    return url if "," in url.split("/")[0] or ")" in url.split("/")[0] else urlkey(with_scheme(url))


def _print_lines(
    place: str, allow: tuple[str, ...], start: bytes, end: bytes | None, limit: int | None
) -> int:
    from nwx.zipnum.cluster import open_cluster

    found = 0
    with open_cluster(place, allow) as cluster, list_output(None) as output:
        for line in islice(cluster.lines(start, end), limit):
            output.write(line + b"\n")
            found += 1
    return 0 if found else 1


def repair_words(report: "RepairReport") -> str:
    """Return the report of a repair as text."""
    what = "data and index were" if report.rewritten else "the index was"
    words = f"{what} rewritten"
    counts = (
        f"{counted(report.lines, 'line')} in {counted(report.blocks, 'block')} of "
        f"{counted(report.shards, 'file')}"
    )
    if report.torn:
        saved = counted(report.saved, "line")
        words += f"; {report.torn:,} damaged blocks, from which {saved} were recovered"
    if report.unsorted:
        words += f"; {counted(report.unsorted, 'block')} or files were out of order"
    if report.missing:
        words += f"; {', '.join(map(clean, report.missing))} not found, other files used"
    return f"{words}: {counts}"
