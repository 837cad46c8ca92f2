"""The options of commands that read archive files and extract texts."""

import click

from nwx.model import PARSERS

verify_option = click.option("--verify", is_flag=True, help="Verify the digests of all records.")
parser_option = click.option(
    "--parser",
    type=click.Choice(PARSERS),
    default="fast",
    show_default=True,
    help="How to read HTML.",
)
item_seconds_option = click.option(
    "--item-seconds",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Processor time for extracting the text of one document, in seconds.",
)
