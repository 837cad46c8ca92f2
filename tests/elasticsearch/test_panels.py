"""The dashboard's queries on a real Elasticsearch: same numbers as `nwx facets`, as charts."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import vl_convert

from nwx.engine.base import Engine, open_engine
from nwx.engine.search_server.server import Server
from nwx.engine.server_engines import ElasticServer
from nwx.facets.answers import FacetAnswers
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetCondition, FacetQuestion, Features
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings
from tests.cli.conftest import run_nwx
from tests.kibana import PANELS, Panel, hits_of, source_of, with_hits
from tests.web.holdings import batch
from webapp import create_app

pytestmark = pytest.mark.xdist_group("panels")

KIBANAS_VEGA_LITE = "5.8"
"""The oldest version in vl-convert; Kibana 8 and 9 use 5."""

STORED = ("captures", "unique_documents", "unique_urls", "bytes", "unique_bytes")


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive on Elasticsearch with built facets."""

    engine: Engine
    server: Server
    prefix: str


@pytest.fixture(scope="module")
def archive(elasticsearch_url: str) -> Iterator[Archive]:
    settings = Settings(elasticsearch_url, ServerSettings(prefix=f"nwx-k{uuid.uuid4().hex[:12]}"))
    server = ElasticServer(settings.engine, settings.server)
    prefix = settings.server.prefix
    try:
        with open_engine(settings) as engine:
            engine.create()
            engine.write(batch())
            engine.refresh()
            run_nwx(settings.engine, "--prefix", prefix, "build-facets", "--min-captures", 1)
            yield Archive(engine, server, prefix)
    finally:
        for name in server.request("GET", f"/{prefix}*/_settings"):
            server.request("DELETE", f"/{name}")
        server.close()


def _hits(archive: Archive, spec: dict[str, Any]) -> list[dict[str, Any]]:
    source = source_of(spec)
    assert source["format"] == {"type": "json", "property": "hits.hits"}
    url = source["url"]
    answer = archive.server.request("POST", f"/{url['index']}/_search", url["body"])
    found: list[dict[str, Any]] = answer["hits"]["hits"]
    return found


def _expected(archive: Archive, panel: Panel) -> dict[tuple[str, ...], Features]:
    where = (FacetCondition(Criterion.STATUS, (panel.status,)),) if panel.status else ()
    question = FacetQuestion(where, panel.criteria, sort=panel.feature)
    answer = FacetAnswers(archive.engine).answer(question)
    return {row.values: row.features for row in answer.rows}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_a_query_gives_the_numbers_of_facet_questions(archive: Archive, panel: Panel) -> None:
    expected = _expected(archive, panel)
    hits = [hit["_source"] for hit in _hits(archive, panel.spec(archive.prefix))]
    assert len(hits) == min(panel.top or len(expected), len(expected))
    assert len(hits) > 1
    for hit in hits:
        values = tuple(hit[criterion.definition.facets_field] for criterion in panel.criteria)
        told = expected.pop(values)
        assert {name: hit[name] for name in STORED} == {
            name: getattr(told, name) for name in STORED
        }
    if panel.top and expected:
        least = min(hit[panel.feature.value] for hit in hits)
        assert all((left.value(panel.feature) or 0) <= least for left in expected.values())


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_a_chart_is_drawn_from_the_answer(archive: Archive, panel: Panel) -> None:
    spec = panel.spec(archive.prefix)
    hits = _hits(archive, spec)
    spec = with_hits(spec, hits) | {"width": 480, "height": 220}
    if "vega-lite" not in spec["$schema"]:
        svg = vl_convert.vega_to_svg(spec, allowed_base_urls=[])
    else:
        svg = vl_convert.vegalite_to_svg(spec, vl_version=KIBANAS_VEGA_LITE, allowed_base_urls=[])
    marks = re.findall(r"<path(?: aria-label=\"[^\"]*\")? [^>]*fill=\"(?!none|transparent)", svg)
    assert len(marks) >= len(hits)
    assert "NaN" not in svg
    assert "undefined" not in svg


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_pictures_are_drawn_from_the_same_hits(archive: Archive, panel: Panel) -> None:
    """The documentation's charts send a folder the same queries as Kibana sends the server."""
    here = hits_of(panel, archive.engine.scan(IndexName.FACETS))
    there = _hits(archive, panel.spec(archive.prefix))

    def known(hits: list[dict[str, Any]]) -> list[Any]:
        name = panel.feature.value if panel.top else panel.by[0].definition.facets_field
        return [hit["_source"][name] for hit in hits]

    assert known(here) == known(there)


def test_the_explorer_asks_a_server_too(archive: Archive) -> None:
    client = create_app(archive.engine).test_client()
    rows = client.get("/explore/table.json?by=type,status").get_json()["rows"]
    captures = batch().captures
    assert sum(row["captures"] for row in rows) == len(captures)
    behind = client.get("/explore/captures?where=type%3Dpdf&where=status%3Dserver_error").text
    wanted = sum(one.content_type_norm == "pdf" and one.status_code == 500 for one in captures)
    assert f"<strong>{wanted}</strong> captures" in behind
    assert behind.count("<tr>") == wanted + 1
