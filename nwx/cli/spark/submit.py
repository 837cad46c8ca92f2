"""nwx spark submit"""

import os
from pathlib import Path

import click

from nwx.errors import JobError, UsageError

_SCRIPT = Path(__file__).parent / "submitted.py"
_END = "--"


class _Submit(click.Command):
    """A command whose arguments are those of others: only --help is its own."""

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

    spark-submit is that of SPARK_HOME, else the one that came with PySpark.
    """
    from nwx.jobs.session import prepare_environment

    if _END not in arguments:
        raise UsageError("write -- between the options of spark-submit and the job")
    place = arguments.index(_END)
    options, job = arguments[:place], arguments[place + 1 :]
    if not job:
        raise UsageError("name a job behind --")
    prepare_environment()
    program = Path(os.environ["SPARK_HOME"]) / "bin" / "spark-submit"
    if not program.exists():
        raise JobError(f"there is no {program}; SPARK_HOME has to name an installation of Spark")
    os.execv(program, [str(program), *options, str(_SCRIPT), "spark", *job])
