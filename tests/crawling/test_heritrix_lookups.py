"""A real Heritrix asks the CDX server for what is held, and goes on crawling where it is away."""

from collections import Counter
from pathlib import Path

import pytest

from tests.crawling.heritrix.server import Heritrix, wait_until
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
_CHAIN = ('<ref bean="fetchHttp"/>', '<ref bean="wbm"/><ref bean="fetchHttp"/><ref bean="history"/>')


def crawled(heritrix: Heritrix, name: str, site: Site, service: str) -> Path:
    """Crawl a site with lookups at a service; return the folder of the WARC files."""
    job = heritrix.make_job(name, [site.home])
    beans = job.folder / "crawler-beans.cxml"
    text = beans.read_text(encoding="utf-8").replace(*_CHAIN)
    text = text.replace("</beans>", f"{_LOADS.format(service=service)}</beans>")
    beans.write_text(text, encoding="utf-8")
    job.launch()
    wait_until(lambda: job.state in ("", "EMPTY", "FINISHED"), f"{name} is crawled")
    job.end(); import shutil; shutil.copytree(job.folder, f"/tmp/close/job-{name}", dirs_exist_ok=True)
    return job.folder / "latest" / "warcs"


def test_heritrix_writes_revisits_and_goes_on_where_nwx_is_away(
    heritrix: Heritrix, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {})
    with running_site(3) as site:
        with place.served("--create") as service:
            pass
        away = crawled(heritrix, "away", site, service)
        place.load(away)
        site.change()
        with place.served() as service:
            again = crawled(heritrix, "again", site, service)
    kinds = Counter(one.record_type for one in captures_of(away) if one.url.startswith(site.home))
    assert kinds == {"response": site.urls + 1}  # and robots.txt
    second = [one for one in captures_of(again) if one.url.startswith(site.home)]
    kinds = Counter(one.record_type for one in second)
    assert kinds == {"revisit": site.urls + 1 - len(CHANGING), "response": len(CHANGING)}
