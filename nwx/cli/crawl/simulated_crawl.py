"""The simulator of `nwx steer`: crawls of a collection as the specification would steer them."""

from pathlib import Path
from typing import TYPE_CHECKING

from nwx.cli.output import print_json
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.simulation.simulation import SimulationReport


_CHART_WIDTH = 960
_SUFFIXES = (".svg", ".png")


def check_simulation(collection: str | None, budget: int | None, chart: Path | None) -> None:
    """Raise UsageError on options that say nothing without a simulation, or no name of a chart."""
    if collection is None and (budget is not None or chart is not None):
        option = "--chart" if budget is None else "--budget"
        raise UsageError(f"{option} needs --simulate COLLECTION")
    if chart is not None and chart.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{chart} is no name for a chart; end it in {' or '.join(_SUFFIXES)}")


def simulate_crawl(
    settings: Settings,
    specification: str,
    collection: str,
    budget: int | None,
    chart: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Simulate the crawls, print what they found, and draw their harvest rates into `chart`."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.steering.simulation.simulation import simulate
    from nwx.steering.specifications.specification_store import specification_at

    with open_for_reading(settings) as engine, progress_bar(quiet=quiet) as progress:
        chosen = specification_at(engine.crawl_index(), specification)
        report = simulate(engine, chosen, collection, budget, progress)
    if chart is not None:
        _draw(report, chart)
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        from nwx.cli.crawl.tables import print_simulation

        print_simulation(report)


def _draw(report: "SimulationReport", path: Path) -> None:
    from nwx.bulk.whole_files import whole_file
    from nwx.charts import fields
    from nwx.charts.pictures import draw_picture
    from nwx.charts.specs import harvest_chart

    crawls = {
        "Steered": report.steered,
        "Breadth first": report.breadth_first,
        "Oracle": report.oracle,
    }
    harvests = {name: list(enumerate(crawl.curve, 1)) for name, crawl in crawls.items()}
    spec = harvest_chart(harvests, _CHART_WIDTH)
    looks = fields.config("light", background=True)
    picture = draw_picture(spec, looks, "png" if path.suffix.lower() == ".png" else "svg")
    with whole_file(path) as stream:
        stream.write(picture)
