"""nwx spark and nwx spark submit, and what all jobs share: options, running, reports"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import counted, print_errors, print_json, progress_bar, warn
from nwx.errors import JobError, UsageError

if TYPE_CHECKING:
    from nwx.jobs.output import JobReport, OutputMode

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


_OVERWRITE = option.flag("--overwrite", "Replace the output of an earlier job.")
_RESUME = option.flag("--resume", "Resume an earlier job that was stopped.")
base_option = option.string(
    "--base",
    "FOLDER",
    help="Folder to which paths in OUT are relative.  [default: the given folder, or the common"
    " folder of all files]",
)
_RUN_OPTIONS = (
    option.string(
        "--master",
        "URL",
        help="The cluster: yarn, spark://…, k8s://…, local[N].  [default: all cores of this"
        " machine, or as given to spark-submit]",
    ),
    option.repeated("--conf", "NAME=VALUE", "A setting of Spark; may be repeated."),
    option.string(
        "--archives",
        "FILE#NAME",
        "A packed environment for executors, unpacked in their folder NAME.",
    ),
    option.JSON_REPORT,
)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The options of all jobs, as click names them."""

    master: str
    conf: tuple[str, ...]
    archives: str
    as_json: bool
    quiet: bool
    overwrite: bool = False
    resume: bool = False

    @property
    def mode(self) -> "OutputMode":
        """The treatment of existing output; raises UsageError if both options are given."""
        from nwx.jobs.output import OutputMode

        if self.overwrite and self.resume:
            raise UsageError("--overwrite and --resume are mutually exclusive")
        if self.overwrite:
            return OutputMode.OVERWRITE
        return OutputMode.RESUME if self.resume else OutputMode.NEW

    @property
    def resuming_mode(self) -> "OutputMode":
        """The mode of jobs that always continue with existing output, without `--resume`."""
        from nwx.jobs.output import OutputMode

        return OutputMode.OVERWRITE if self.overwrite else OutputMode.RESUME


def job_options(*, resume: bool = True) -> option.Decorator:
    """Return the options of all jobs; without `resume`, a job always skips finished files."""
    return option.option_set(_OVERWRITE, *((_RESUME,) if resume else ()), *_RUN_OPTIONS)


def run_job(
    name: str, asked: JobOptions, job: "Callable[..., JobReport]", *arguments: Any, **named: Any
) -> int:
    """Run `job(spark, *arguments, progress=…, **named)`, and print its report.

    Return the exit code: 1 if the output is incomplete.
    """
    from nwx.jobs.session import SessionOptions, job_session

    options = SessionOptions(asked.master, _conf(asked), f"nwx spark {name}")
    with progress_bar(quiet=asked.quiet) as progress, job_session(options) as spark:
        report = job(spark, *arguments, progress=progress, **named)
    return print_job(report, asked)


def _conf(asked: JobOptions) -> dict[str, str]:
    conf: dict[str, str] = {}
    for setting in asked.conf:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--conf {setting}: write NAME=VALUE")
        conf[name.strip()] = value
    if asked.archives:
        _, _, folder = asked.archives.partition("#")
        if not folder:
            raise UsageError(f"--archives {asked.archives}: write FILE#NAME")
        conf["spark.archives"] = asked.archives
        conf.setdefault("spark.pyspark.python", f"./{folder}/bin/python")
    return conf


def print_job(report: "JobReport", asked: JobOptions) -> int:
    """Print the report of a job; return the exit code, 1 if the output is incomplete."""
    print_errors(report.errors, report.errors_total)
    for warning in report.warnings:
        warn(f"{warning}")
    if asked.as_json:
        print_json(report.as_json())
    elif not asked.quiet:
        counts = [f"{count:,} {noun}" for noun, count in report.counts.items() if count]
        click.echo(", ".join([*counts, counted(report.errors_total, "error")]))
    if not report.is_whole:
        warn(
            "the output is incomplete, and has no _SUCCESS; fix the errors listed above, and run"
            " the job again"
        )
    return 0 if report.is_whole else 1
