"""nwx spark"""

from importlib import import_module

import click

JOB_COMMANDS = {
    "cdx": "Write an index of each archive file.",
    "extract": "Extract the documents of archive files as Parquet.",
    "links": "Invert the links of documents.",
    "splits": "Write split points for ZipNum clusters.",
    "zipnum": "Build a ZipNum cluster from CDX files.",
    "dedup": "List the duplicates in CDX files.",
    "facets": "Count what nwx build-facets counts.",
    "revisits": "List the revisit records in CDX files.",
    "submit": "Run a job through spark-submit.",
}
"""The jobs, and what each does; the module of one is loaded when it is asked for."""

_MODULES = {
    "cdx": "archive_jobs",
    "extract": "archive_jobs",
    "links": "archive_jobs",
    "submit": "submit",
}
"""The modules of jobs that are not in `cdx_jobs`."""


class _Jobs(click.Group):
    """Commands that are loaded when needed, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(JOB_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in JOB_COMMANDS:
            return None
        module = import_module(f"nwx.cli.spark.{_MODULES.get(cmd_name, 'cdx_jobs')}")
        found: click.Command = getattr(module, f"spark_{cmd_name}")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Jobs"):
            formatter.write_dl(list(JOB_COMMANDS.items()), col_max=12)


@click.group("spark", cls=_Jobs)
def command() -> None:
    """Do large work on Spark: here, or on a cluster.

    The results are those of the commands that work on one machine. Needs
    the extra `spark` and Java 17 or newer.
    """
