"""nwx spark facets"""

from pathlib import Path
from typing import Any

import click

from nwx.cli.build_facets import MIN_CAPTURES, SITES, show_faults
from nwx.cli.spark.job_options import JobOptions, job_options, run_job
from nwx.model import DEFAULT_COLLECTION


@click.command("facets")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@MIN_CAPTURES
@SITES
@click.option(
    "--collection",
    default=DEFAULT_COLLECTION,
    show_default=True,
    metavar="NAME",
    help="Collection of the captures in CDX files.",
)
@job_options(resume=False)
def command(
    out: str,
    files: tuple[str, ...],
    min_captures: int,
    sites_file: Path | None,
    collection: str,
    **given: Any,
) -> int:
    """Count the facets of captures into the folder OUT.

    FILES are one folder that nwx export captures wrote, or CDX and CDXJ files as
    for nwx spark dedup. combinations.parquet in OUT has the combinations with
    many captures, all features counted exactly. nwx build-facets --from OUT
    makes them, and the columns of all captures, those of an archive: of the
    one that was exported, or one that loaded the same CDX files.
    """
    from nwx.facets.sites import read_sites
    from nwx.jobs.facet_rows import capture_inputs
    from nwx.jobs.facets import FacetJobOptions, count_facets
    from nwx.jobs.inputs import absolute_place
    from nwx.keys import check_collection

    check_collection(collection)
    asked = JobOptions(**given)
    sites = read_sites(sites_file) if sites_file else None
    show_faults(sites_file, sites)
    inputs = capture_inputs(files)
    options = FacetJobOptions(min_captures, sites, collection, asked.overwrite)
    return run_job(
        "facets",
        asked,
        lambda spark, progress: count_facets(spark, inputs, absolute_place(out), options, progress),
    )
