"""The options that narrow a question down, of the commands that ask one."""

import click

from nwx.query.fields import FILTERS


def date_options(function: click.decorators.FC) -> click.decorators.FC:
    """Add --from and --to."""
    for flag, name, words in (("--to", "date_to", "earlier"), ("--from", "date_from", "later")):
        given = f"Captured on this date or {words}."
        function = click.option(flag, name, default="", metavar="DATE", help=given)(function)
    return function


def filter_options(function: click.decorators.FC) -> click.decorators.FC:
    """Add an option for each filter."""
    for name in reversed(FILTERS):
        option = click.option(
            f"--{name}", multiple=True, metavar="VALUE", help=f"Only this {name}; may be repeated."
        )
        function = option(function)
    return function
