"""nwx spark, and nwx spark submit"""

import os
from importlib import import_module
from pathlib import Path

import click

from nwx.errors import JobError, UsageError

JOB_COMMANDS = {
    "cdx": "Write an index of each archive file.",
    "extract": "Extract the documents of archive files as Parquet.",
    "links": "Invert the links of documents.",
    "splits": "Write split points for ZipNum clusters.",
    "zipnum": "Build a ZipNum cluster from CDX files.",
    "dedup": "List the duplicates in CDX files.",
    "facets": "Count what nwx build-facets counts.",
    "cc-index": "Write Common Crawl's columnar index of CDX files.",
    "revisits": "List the revisit records in CDX files.",
    "submit": "Run a job through spark-submit.",
}
"""The jobs with their descriptions; the module of a job is loaded on first use."""


class _Jobs(click.Group):
    """A group that loads commands on demand, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(JOB_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in JOB_COMMANDS:
            return None
        if cmd_name == "submit":
            return spark_submit
        module = import_module("nwx.cli.spark.jobs")
        found: click.Command = getattr(module, f"spark_{cmd_name.replace('-', '_')}")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Jobs"):
            formatter.write_dl(list(JOB_COMMANDS.items()), col_max=12)


@click.group("spark", cls=_Jobs)
def command() -> None:
    """Run large jobs on Spark, locally or on a cluster.

    The results are those of the commands that work on one machine. Needs
    the extra `spark` and Java 17 or newer.
    """


_SCRIPT = Path(__file__).parent / "submitted.py"
_END = "--"


class _Submit(click.Command):
    """A command that passes all its arguments on; only --help is its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = tuple(args)
        if given and given[0] not in ctx.help_option_names:
            args = []
        super().parse_args(ctx, args)
        ctx.params["arguments"] = given
        return []


@click.command("submit", cls=_Submit)
@click.argument("arguments", metavar="[OPTIONS OF spark-submit] -- JOB ...", nargs=-1)
def spark_submit(arguments: tuple[str, ...]) -> int:
    """Run a job through spark-submit, which takes the options before --.

    spark-submit is that of SPARK_HOME, or else the one installed with PySpark.
    """
    from nwx.jobs.session import prepare_environment

    if _END not in arguments:
        raise UsageError("write -- between the options of spark-submit and the job")
    place = arguments.index(_END)
    options, job = arguments[:place], arguments[place + 1 :]
    if not job:
        raise UsageError("name a job after --")
    prepare_environment()
    program = Path(os.environ["SPARK_HOME"]) / "bin" / "spark-submit"
    if not program.exists():
        raise JobError(f"there is no {program}; SPARK_HOME must be an installation of Spark")
    os.execv(program, [str(program), *options, str(_SCRIPT), "spark", *job])
