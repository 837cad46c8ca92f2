"""The option of `nwx import` that takes documents which were extracted on Spark."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from nwx.errors import UsageError

if TYPE_CHECKING:
    from nwx.importing import ImportOptions
    from nwx.model import ReadError
    from nwx.warc.sources import ArchiveSource

_OF_EXTRACTION = ("verify", "parser", "item_seconds", "external", "extractors", "name")
"""Options that are about how archive files are read."""

documents_option = click.option(
    "--documents",
    multiple=True,
    metavar="FOLDER",
    help="Import what `nwx spark extract` wrote to FOLDER, in the place of the archive files.",
)


def extracted(
    context: click.Context, documents: Sequence[str], files: Sequence[str], options: "ImportOptions"
) -> "tuple[list[ArchiveSource | ReadError], ImportOptions]":
    """Return the archive files that documents are of, and the options to import them with.

    Raises UsageError where other arguments do not go with them, and
    SourceError where they cannot be read.
    """
    # Imported here: what reads Parquet takes a while to load.
    from nwx.importing.extracted.sources import check_extracted, extracted_sources

    if files:
        raise UsageError("import archive files and --documents by two commands")
    given = [name for name in _OF_EXTRACTION if _is_given(context, name)]
    if given:
        option = given[0].replace("_", "-").replace("extractors", "extractor")
        raise UsageError(
            f"--{option} is about reading archive files; "
            "documents are imported as `nwx spark extract` made them"
        )
    found = extracted_sources(documents)
    if not _is_given(context, "collection"):
        options = replace(options, collection=found.collection)
    check_extracted(found, options)
    return list(found.sources), options


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
