"""The nwx command."""

import click


@click.group()
@click.version_option(package_name="nwx")
def main() -> None:
    """Make web archives searchable, measurable and cheap to keep."""
