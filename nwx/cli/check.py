"""nwx check"""

from collections import Counter
from dataclasses import asdict

import click

from nwx.checking import Finding, check
from nwx.cli.output import clean, print_json
from nwx.engine.open import open_engine
from nwx.settings import Settings

_SHOWN_OF_A_KIND = 100


@click.command("check")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(settings: Settings, as_json: bool) -> int:
    """Check that the indices agree with each other and with the ledger.

    The exit code is 1 when something is wrong.
    """
    counts: Counter[str] = Counter()
    shown: list[Finding] = []
    with open_engine(settings, read_only=True) as engine:
        for finding in check(engine):
            counts[finding.kind] += 1
            if counts[finding.kind] <= _SHOWN_OF_A_KIND:
                shown.append(finding)
    if as_json:
        print_json({"agrees": not counts, "findings": counts, "first": list(map(asdict, shown))})
    else:
        _print(shown, counts)
    return 1 if counts else 0


def _print(shown: list[Finding], counts: Counter[str]) -> None:
    for finding in shown:
        click.echo(clean(f"{finding.index} {finding.id}: {finding.message}"))
    more = counts.total() - len(shown)
    if more:
        click.echo(f"… and {more:,} more")
    click.echo(f"{counts.total():,} disagreements" if counts else "the indices agree")
