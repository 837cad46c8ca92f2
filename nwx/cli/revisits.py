"""revisits, also nwx revisits"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from nwx.cli.list_commands import (
    exit_code,
    list_options,
    list_output,
    print_report,
    resources_of,
    sources_of,
)
from nwx.cli.main import run
from nwx.cli.progress import progress_bar


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    files: tuple[str, ...]
    output: Path | None
    fields: str | None
    summary: bool
    as_json: bool
    strict: bool
    memory: int
    tmp: Path | None
    jobs: int | None
    quiet: bool


@click.command("revisits", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@list_options
def command(**given: Any) -> int:
    """List the revisit records in CDX files.

    The list has the form that dedup-cdx writes. Revisits are lines of MIME type
    warc/revisit and, in files of 9 fields, lines with `-` as file name. FILES
    are read as by dedup-cdx.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.dedup.duplicates import find_revisits

    asked = _Options(**given)
    sources = sources_of(asked.files, asked.fields)
    with list_output(asked.output) as stream, progress_bar(quiet=asked.quiet) as progress:
        report = find_revisits(
            sources,
            stream,
            resources=resources_of(asked.memory, asked.tmp, asked.jobs),
            strict=asked.strict,
            summary=asked.summary or asked.as_json,
            progress=progress,
        )
    report.filtered = 0  # all that are no revisits
    print_report(
        report,
        "revisits",
        summary=asked.summary,
        as_json=asked.as_json,
        listed=asked.output is None,
        quiet=asked.quiet,
    )
    return exit_code(report)


def main() -> None:
    """Run the command by its own name."""
    run(command, "revisits")


if __name__ == "__main__":
    main()
