"""revisits, also nwx revisits"""

from pathlib import Path

import click

from nwx.cli.list_commands import (
    exit_code,
    list_options,
    list_output,
    print_report,
    resources_of,
    sources_of,
    step_bar,
)
from nwx.cli.main import run
from nwx.dedup.revisits import find_revisits


@click.command("revisits", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@list_options
def command(
    files: tuple[str, ...],
    output: Path | None,
    fields: str | None,
    summary: bool,
    as_json: bool,
    strict: bool,
    memory: int,
    tmp: Path | None,
    jobs: int | None,
    quiet: bool,
) -> int:
    """List the revisit records in CDX files.

    The list has the form that dedup-cdx writes. Revisits are lines of MIME
    type warc/revisit and, in files of 9 fields, lines with `-` for the file
    name. FILES are as for dedup-cdx.
    """
    sources = sources_of(files, fields)
    with list_output(output) as stream, step_bar(quiet=quiet) as progress:
        report = find_revisits(
            sources,
            stream,
            resources=resources_of(memory, tmp, jobs),
            strict=strict,
            summary=summary or as_json,
            progress=progress,
        )
    report.filtered = 0  # all that are no revisits
    print_report(
        report, "revisits", summary=summary, as_json=as_json, listed=output is None, quiet=quiet
    )
    return exit_code(report)


def main() -> None:
    """Run the command by its own name."""
    run(command, "revisits")


if __name__ == "__main__":
    main()
