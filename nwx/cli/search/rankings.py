"""nwx rankings, judge, evaluate, tune"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.output import clean, command_user, counted, opened_archive, print_csv, print_json
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.model import Hit
    from nwx.searching.judgements import Qrels
    from nwx.searching.ranking_evaluation import Evaluation, MeanEstimate

_RANKINGS = option.repeated(
    "--ranking", "NAME", "A ranking; may be repeated.  [default: default, older]", into="names"
)
_QRELS = option.file_path(
    "--qrels", "Use the judgements in this file, CSV or TREC qrels, instead of the archive's."
)


@click.command("rankings")
@click.argument("name", required=False)
@click.argument("weights", nargs=-1)
@option.flag("--remove", "Remove the ranking.")
@option.JSON
@click.pass_obj
def rankings_command(
    settings: Settings, /, name: str | None, weights: tuple[str, ...], remove: bool, as_json: bool
) -> None:
    """List the named rankings of results, or store one.

    Weights are title, headings, text, url, anchors, inlinks, lower, phrase, below_pages and
    most_words (0 or 1). Weights that are not given have their defaults. `nwx search
    --ranking NAME` orders results by it.
    """
    with opened_archive(settings) as archive:
        if name and remove:
            if not archive.remove_ranking(name):
                raise UsageError(f"there is no stored ranking {name!r}")
        elif name and weights:
            archive.save_ranking(name, **dict(map(_weight, weights)))
        found = [one for one in archive.rankings() if name in (None, one.name)]
    if as_json:
        print_json([{"name": one.name, **one.weights()} for one in found])
        return
    for one in found:
        words = " ".join(f"{key}={value:g}" for key, value in one.weights().items())
        click.echo(clean(f"{one.name:12} {words}"))


def _weight(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError as error:
        raise UsageError(f"{text!r} is not NAME=NUMBER, as in title=4") from error


@click.command("judge")
@click.argument("queries", type=option.FILE, required=False)
@_RANKINGS
@option.string("--judge", "NAME", "Name of the judge.  [default: the user]")
@option.file_path("--load", "Store the judgements in a file: CSV or TREC qrels.")
@option.flag("--list", "Print the judgements as CSV.", into="as_list")
@option.flag("--qrels", "Print the judgements as TREC qrels.", into="as_qrels")
@option.flag("--agreement", "Print the agreement of each pair of judges.")
@click.pass_obj
def judge_command(
    settings: Settings,
    /,
    queries: Path | None,
    names: tuple[str, ...],
    judge: str,
    load: Path | None,
    as_list: bool,
    as_qrels: bool,
    agreement: bool,
) -> None:
    """Judge results of several rankings, without seeing which ranking found them.

    QUERIES is a file with a query in each line, or a CSV with a column `query`; the queries
    are stored in the archive and can also be judged on the page /judge. Keys: 0 not
    relevant, 1 on topic, 2 good, 3 exact; s skips, n goes to the next query, q quits.
    """
    from nwx.searching.judgements import qrels_lines, qrels_of, read_judgements, read_queries

    with opened_archive(settings) as archive:
        if load:
            click.echo(f"{counted(archive.add_judgements(read_judgements(load)), 'judgement')}")
        if as_list:
            print_csv(("query", "url", "grade", "judge"), archive.judgements())
        elif as_qrels:
            click.echo("\n".join(qrels_lines(qrels_of(archive.judgements()))))
        elif agreement:
            _print_agreement(archive)
        elif queries or not load:
            wanted = archive.judge_queries(read_queries(queries) if queries else ())
            _judge(archive, wanted, judge or command_user(), names)


def _print_agreement(archive: "Archive") -> None:
    for one in archive.agreement():
        who = f"{one.judges[0] or '?'} and {one.judges[1] or '?'}"
        click.echo(
            clean(
                f"{who}: {one.both:,} judged by both, {one.equal:.0%} equal, kappa {one.kappa:.2f}"
            )
        )


def _judge(archive: "Archive", queries: list[str], judge: str, names: tuple[str, ...]) -> None:
    for number, query in enumerate(queries, 1):
        hits = archive.to_judge(query, judge, names)
        for place, hit in enumerate(hits, 1):
            click.echo(clean(f"\n[{number}/{len(queries)}] {query}   ({place}/{len(hits)})"))
            _print_hit(hit)
            match _key():
                case "q":
                    return
                case "n":
                    break
                case "s":
                    continue
                case grade:
                    archive.judge(query, hit.url, int(grade), judge)


def _print_hit(hit: "Hit") -> None:
    snippet = "".join(text for text, _ in hit.snippet)
    for text in (hit.title, hit.url, snippet):
        if text:
            click.echo(f"  {clean(text)}")


def _key() -> str:
    while True:
        click.echo("  0 1 2 3, s n q: ", nl=False)
        at_terminal = sys.stdin.isatty()
        pressed = (click.getchar(echo=True) if at_terminal else sys.stdin.read(1)).lower()
        click.echo()
        if pressed in set("0123snq"):
            return pressed
        if pressed in ("", "\x03", "\x04"):
            return "q"


@click.command("evaluate")
@_RANKINGS
@_QRELS
@option.repeated(
    "--run", "FILE", "Also compare the results of a TREC run; may be repeated.", into="runs"
)
@option.value(
    "--write-runs", option.FOLDER, "FOLDER", "Write the results of each ranking as a TREC run."
)
@option.JSON
@click.pass_obj
def evaluate_command(
    settings: Settings,
    /,
    names: tuple[str, ...],
    qrels: Path | None,
    runs: tuple[str, ...],
    write_runs: Path | None,
    as_json: bool,
) -> None:
    """Measure how well rankings answer the judged queries.

    Prints nDCG@10, the mean reciprocal rank, precision at 1 and recall at 100, each with a
    95 % confidence interval (bootstrapped over queries), and the changes from the first
    ranking.
    """
    from nwx.searching.judgements import read_run, run_lines

    with opened_archive(settings) as archive:
        others = {Path(one).stem: read_run(Path(one)) for one in runs}
        found, results = archive.evaluation(names, qrels=_grades(archive, qrels), runs=others)
    if write_runs:
        write_runs.mkdir(parents=True, exist_ok=True)
        for name, by_query in results.items():
            lines = run_lines(name, by_query)
            (write_runs / f"{name}.run").write_text("".join(f"{one}\n" for one in lines), "utf-8")
    if as_json:
        print_json([asdict(one) for one in found])
        return
    print_evaluations(found)


def print_evaluations(found: "Iterable[Evaluation]") -> None:
    """Print the measures of each ranking, and for all but the first their changes."""
    for number, one in enumerate(found):
        click.echo(clean(f"{one.ranking}: {counted(one.queries, 'query')}"))
        for name, value in one.values.items():
            change = f"   change {_interval(one.changes[name], sign=True)}" if number else ""
            click.echo(f"  {name:11} {_interval(value)}{change}")


def _interval(one: "MeanEstimate", *, sign: bool = False) -> str:
    form = "+.3f" if sign else ".3f"
    return f"{one.mean:{form}} [{one.low:{form}}, {one.high:{form}}]"


def _grades(archive: "Archive", path: Path | None) -> "Qrels":
    grades: Mapping[str, Mapping[str, int]] = archive.qrels(path or "")
    if not grades:
        raise UsageError("there are no judgements yet; run `nwx judge QUERIES`")
    return grades


@click.command("tune")
@option.string("--save", "NAME", "Store the weights as a ranking, if they improve results.")
@option.string("--ranking", "NAME", "The ranking to start from.", default="default")
@option.string(
    "--measure", "NAME", "Measure to improve: nDCG@10, MRR, P@1 or recall@100.", default="nDCG@10"
)
@_QRELS
@click.pass_obj
def tune_command(
    settings: Settings, /, save: str, ranking: str, measure: str, qrels: Path | None
) -> None:
    """Tune the weights of a ranking on judged queries, and test them on others.

    Weights that bring no gain on the held-out queries are not stored.
    """
    with opened_archive(settings) as archive:
        grades = _grades(archive, qrels)
        found = archive.tune(save, ranking=ranking, measure=measure, qrels=grades)
    words = " ".join(f"{key}={value:g}" for key, value in found.ranking.weights().items())
    click.echo(f"best of {found.tried} rankings: {words}")
    click.echo(
        f"  {found.measure} on the queries used for tuning: {_interval(found.trained, sign=True)}"
    )
    click.echo(
        f"  on {counted(found.held_out, 'query')} held out: {found.before:.3f}, change "
        f"{_interval(found.gain, sign=True)}"
    )
    if not found.gains:
        click.echo("  no gain there, so it is not stored")
    elif save:
        click.echo(clean(f"  stored as {save}"))
