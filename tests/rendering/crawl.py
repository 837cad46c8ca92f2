"""A crawl of the synthetic web by a real browser through the real warcprox, with its renders."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.conftest import run_nwx
from tests.crawling.warcprox import warcprox
from tests.rendering.made_site.answers import MadeSite
from tests.rendering.made_site.server import running_made_site
from tests.web.chromium import find_browser


@dataclass(frozen=True, slots=True)
class Crawl:
    """Output of a crawl: a folder of WARC files by warcprox, and one of the browser's renders."""

    site: MadeSite
    warcs: Path
    renders: Path

    @property
    def files(self) -> list[Path]:
        """All files, renders last."""
        return [*sorted(self.warcs.glob("*.warc.gz")), *sorted(self.renders.glob("*.warc.gz"))]


@contextmanager
def recording(folder: Path, site: MadeSite) -> Iterator[str]:
    """Yield the address of an archiving proxy through which the synthetic web is reachable."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        running_made_site(site) as door,
        warcprox(folder, "--socks-proxy", door, failing_hosts=True) as proxy,
    ):
        yield proxy


def crawl(folder: Path, site: MadeSite, urls: list[str], jobs: int = 2) -> Crawl:
    """Crawl pages of the synthetic web into a folder; later calls can add more pages."""
    made = Crawl(site, folder / "warcs", folder / "renders")
    made.renders.mkdir(parents=True, exist_ok=True)
    listed = folder / "urls.txt"
    listed.write_text("\n".join(urls), encoding="utf-8")
    out = made.renders / f"renders-{len(list(made.renders.iterdir())):03}.warc.gz"
    with recording(made.warcs, site) as proxy:
        run_nwx(
            str(folder / "no-archive"),
            *("render", "--live", "--proxy", proxy, "--urls", listed, "--out", out),
            *("--jobs", jobs, "--browser", find_browser()),
        )
    return made
