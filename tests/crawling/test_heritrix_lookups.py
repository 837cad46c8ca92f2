"""A real Heritrix looks up duplicates in the CDX server, and keeps crawling while it is down.

Set up as in docs/crawling.md, with the processor of heritrix-contrib.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.crawling.heritrix.server import Heritrix, HeritrixJob, wait_until
from tests.crawling.service import Place
from tests.crawling.site import CHANGING, Site, running_site
from tests.crawling.test_crawling import captures_of

pytestmark = pytest.mark.xdist_group("heritrix")

_LOADS = """
 <bean id="wbm" class="org.archive.modules.recrawl.wbm.WbmPersistLoadProcessor">
  <property name="queryURL" value="{service}/cdx/ia?url=$u&amp;limit=-1"/>
 </bean>
 <bean id="history" class="org.archive.modules.recrawl.FetchHistoryProcessor"/>
"""
_CHAIN = (
    '<ref bean="fetchHttp"/>',
    '<ref bean="wbm"/><ref bean="fetchHttp"/><ref bean="history"/>',
)


def made_job(heritrix: Heritrix, name: str, site: Site, service: str) -> HeritrixJob:
    """Create a job that looks up its fetches in a service."""
    job = heritrix.make_job(name, [site.home])
    beans = job.folder / "crawler-beans.cxml"
    text = beans.read_text(encoding="utf-8").replace(*_CHAIN)
    text = text.replace("</beans>", f"{_LOADS.format(service=service)}</beans>")
    beans.write_text(text, encoding="utf-8")
    return job


def ended(job: HeritrixJob, site: Site) -> Counter[str]:
    """Return the number of captures of a site by kind, once a job has fetched everything."""
    wait_until(lambda: job.state in ("", "EMPTY", "FINISHED"), f"{job.name} is crawled")
    job.end()
    captures = captures_of(job.folder / "latest" / "warcs")
    return Counter(one.record_type for one in captures if one.url.startswith(site.home))


def test_heritrix_goes_on_while_nwx_is_away_and_writes_revisits(
    heritrix: Heritrix, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {})
    with running_site(3) as site:
        urls = site.urls + 2  # robots.txt and favicon.ico
        with place.served("--create") as service:
            pass
        first = made_job(heritrix, "first", site, service)
        first.launch()
        log = first.folder / "latest" / "logs" / "crawl.log"
        # Heritrix tries three times, five seconds apart, and then goes on.
        wait_until(lambda: log.exists() and bool(log.read_bytes()), "the first URL is crawled")
        with place.served("--port", service.rpartition(":")[2]):
            assert ended(first, site) == {"response": urls}
        place.load(first.folder / "latest" / "warcs")
        site.change()
        with place.served() as service:
            second = made_job(heritrix, "second", site, service)
            second.launch()
            changed = len(CHANGING)
            assert ended(second, site) == {"revisit": urls - changed, "response": changed}
