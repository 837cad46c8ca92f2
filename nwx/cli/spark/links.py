"""nwx spark links"""

from typing import Any

import click

from nwx.cli.spark.job_options import JobOptions, job_options, run_job
from nwx.errors import UsageError


@click.command("links")
@click.argument("out", metavar="OUT")
@click.argument("documents", nargs=-1, metavar="DOCUMENTS...")
@job_options(resume=False)
def command(out: str, documents: tuple[str, ...], **given: Any) -> int:
    """Invert the links of documents into the folder OUT.

    DOCUMENTS are outputs of nwx spark extract. OUT gets what nwx export
    links writes as Parquet of an archive of these documents: all links by
    linked URL (links), and the graphs of hosts and domains with their
    centralities; and the number of pages, hosts and domains that link to
    each URL (targets). An archive of these documents takes the links as its
    own by nwx invert-links --from OUT.
    """
    from nwx.jobs.inputs import absolute_place
    from nwx.jobs.links import documents_inputs, invert_links_on

    if not documents:
        raise UsageError("there is nothing to read; name the output of `nwx spark extract`")
    asked = JobOptions(**given)
    paths = documents_inputs(documents)
    return run_job(
        "links",
        asked,
        lambda spark, progress: invert_links_on(
            spark, paths, absolute_place(out), mode=asked.mode, progress=progress
        ),
    )
