"""How every route and every command is asked for what may be hidden."""

import gzip
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import click
import polars as pl
from flask import Flask
from flask.testing import FlaskClient

from nwx.cli.main import cli
from nwx.engine.access.rules import Action
from nwx.engine.pictures.picture_index import Picture
from nwx.keys import capture_id
from nwx.model import Capture
from tests.conformance.planted import COLLECTION, HOME, SECRET, Archive
from webapp.search.records import record_id

ROUTES: Mapping[str, Sequence[str]] = {
    "search.home": ["/"],
    "search.results": [
        "/search?q=quarry&snippets=1",
        "/search?q=quarry&sort=newest&collapse=none",
        "/search?q=quarry&sort=oldest&year=2012",
        "/search?q=",
        f"/search?q={SECRET}",
        f"/search?q={SECRET[:-1]}y",
        "/search?q=anchor:anchor",
        "/search?q=inlinks:[1+TO+99]&sort=inlinks",
        "/search?q=host:{host}",
        "/search?q=url:%22{url}%22",
        "/search?q={url}",
    ],
    "exports.results": [
        "/export/results.json?q=quarry",
        "/export/results.csv?q=",
        "/export/results.csv?q=host:{host}",
    ],
    "exports.packing": ["/export/packing.wacz?q=host:{host}"],
    "documents.show": ["/documents/{id}", "/documents/{id}?q=quarry"],
    "documents.diff": ["/documents/{id}/diff/{home_id}"],
    "documents.compare": ["/documents/compare?old={id}&new={home_id}"],
    "documents.of_capture": [
        "/documents/of?url={url}",
        "/documents/of?url={url}&timestamp={time}",
        "/documents/of?url={url}&digest={digest}",
    ],
    "api.document": ["/api/documents/{id}"],
    "api.dates": ["/api/documents/{id}/dates"],
    "api.versions": ["/api/versions?url={url}"],
    "api.search": [
        "/api/search?q=quarry&facets=collection,year,host,type,domain&limit=100",
        "/api/search?q=&facets=year&year=2012&collapse=none",
        f"/api/search?q={SECRET}",
        "/api/search?q=digest:%22{digest}%22",
        "/api/search?q=host:{host}",
    ],
    "api.stats": ["/api/stats"],
    "explore.show": ["/explore", "/explore?by=site", "/explore?by=month&where=site:{host}"],
    "explore.change": ["/explore/change?by=site&criterion=site&value={host}"],
    "explore.captures": ["/explore/captures", "/explore/captures?where=site:{host}"],
    "explore_exports.table": ["/explore/table.csv?by=site", "/explore/table.json?by=year"],
    "explore_exports.picture": ["/explore/chart.svg?by=site"],
    "facets.answer": [
        "/api/facets?by=site",
        "/api/facets?by=year&by=content_type",
        "/api/facets",
        "/api/facets?where=site:{host}",
    ],
    "facets.captures": ["/api/facets/captures", "/api/facets/captures?where=site:{host}"],
    "facets.criteria": ["/api/facets/criteria"],
    "links.show": ["/links", "/links?url={url}", "/links?host={host}"],
    "links.graph_picture": ["/links/graph.svg", "/links/graph.svg?host={host}"],
    "link_api.links": ["/api/links?url={url}", "/api/links?host={host}"],
    "link_api.graph": ["/api/links/graph", "/api/links/graph?host={host}"],
    "link_api.missing": ["/api/missing", "/api/missing?host={host}"],
    "missing.show": ["/missing"],
    "missing.export_missing": ["/missing/urls.csv", "/missing/urls.json"],
    "quality.show": ["/quality", "/quality?host={host}"],
    "quality.page": ["/quality/page?id={capture}"],
    "quality.export": ["/quality/scores.csv", "/quality/scores.json"],
    "quality_pictures.picture": ["/quality/picture?id={capture}"],
    "quality_api.quality": ["/api/quality", "/api/quality?host={host}"],
    "repairs.show": ["/quality/repairs"],
    "repairs.export_repairs": ["/quality/repairs/list.csv", "/quality/repairs/list.json"],
    "pictures.thumbnail": ["/thumbnail?url={url}&timestamp={time}", "/thumbnail?url={image}"],
    "pictures.render": ["/renders/view?url={url}&timestamp={time}", "/renders/text?url={url}"],
    "api.suggest": ["/api/suggest?q=qua", "/api/suggest?q=oka", "/api/suggest?q={url}"],
    "playback.step": [
        "/replay-step?url={url}&timestamp=20000101000000&to=next",
        "/replay-step?url={url}&timestamp={time}&to=next",
        "/replay-step?url={url}&timestamp=20300101000000&to=previous",
    ],
    "records.show": [
        "/documents/{id}/records/{time}/{record}",
        "/documents/{home_id}/records/{time}/{record}",
    ],
    "records.payload": ["/documents/{id}/records/{time}/{record}/payload"],
    "playback.refusal": ["/replay-refusal?url={url}"],
    "playback.play": ["/replay/{time}/{raw_url}", "/replay/*/{raw_url}"],
    "cdx.all_captures": [
        "/cdx?url={url}",
        "/cdx?url={url}&output=json&fl=urlkey,timestamp,digest,filename",
        "/cdx?url=example&matchType=domain",
        "/cdx?url={url}&matchType=host&showNumPages=true",
        "/cdx?url=example&matchType=domain&showNumPages=true",
        "/cdx/pywb?url={url}",
        "/cdx/outback?url={url}",
        "/cdx/ia?url=*.example&limit=-3",
        "/cdx/hex?url={url}",
        "/cdx/base32?url={url}&closest={time}&sort=closest",
    ],
    "cdx.collection_captures": [
        f"/{COLLECTION}/cdx?url={{url}}",
        f"/{COLLECTION}/cdx/ia?url=*.example",
    ],
    "cdx.as_internet_archive": ["/cdx/search/cdx?url={url}", "/cdx/search/cdx?url=*.example"],
    "cdx.as_timemap": [f"/{COLLECTION}/timemap/cdx?url={{url}}"],
    "cdx.as_outback": [f"/{COLLECTION}?url={{url}}", f"/{COLLECTION}?q=type:urlquery+url:{{url}}"],
    "dedup.dedup": ["/dedup?digest={digest}", "/dedup?digest={digest}&url={url}"],
    "memento.timegate": ["/timegate/{raw_url}", f"/{COLLECTION}/timegate/{{raw_url}}"],
    "memento.timemap": [
        "/timemap/link/{raw_url}",
        "/timemap/json/{raw_url}",
        f"/{COLLECTION}/timemap/cdxj/{{raw_url}}",
    ],
    "crawls.show": ["/crawls"],
    "crawls.show_crawl": ["/crawls/stones"],
    "crawl_api.crawls": ["/api/crawls"],
    "crawl_api.scored_links": ["/api/crawls/stones/links", "/api/crawls/stones/links?host={host}"],
    "comparison.show": [f"/crawls/compare?a={COLLECTION}&spec=stones"],
    "comparison.numbers": [f"/crawls/compare/numbers.json?a={COLLECTION}&spec=stones"],
    "comparison.chart_picture": [f"/crawls/compare/freshness.svg?a={COLLECTION}&spec=stones"],
    "entities.show": ["/entities", "/entities?name=Slate"],
    "sparql.show": ["/sparql?query=SELECT+*+{{?s+?p+?o}}+ORDER+BY+?s+?p+?o", "/sparql"],
    "trends.show": ["/trends?q=quarry", f"/trends?q=quarry&q={SECRET}&by=month"],
    "trends.api": ["/api/trends?q=quarry", f"/api/trends?q={SECRET}"],
    "trends.file": ["/trends.csv?q=quarry", "/trends.svg?q=quarry"],
    "trends.words": ["/words?q=quarry", "/words?q=host:{host}", f"/words?q={SECRET}"],
    "trends.words_api": ["/api/words?q=quarry", "/api/words?q=host:{host}"],
    "picture_pages.show": ["/pictures?q=chisel", f"/pictures?q={SECRET}"],
    "picture_api.pictures": ["/api/pictures?q=chisel", f"/api/pictures?q={SECRET}"],
    "picture_pages.picture": ["/pictures/{picture}"],
    "picture_pages.similar": ["/pictures/similar", "/pictures/similar?hash={hash}"],
    "picture_api.picture": ["/api/pictures/{picture}"],
    "picture_api.similar": ["/api/pictures/similar?hash={hash}"],
    "health.health": ["/health"],
}
"""The requests of each endpoint; names in braces stand for what is asked for."""

WITHOUT_TRACES: Mapping[str, str] = {
    "static": "files of the application",
    "pages.api_page": "a description",
    "pages.favicon": "a picture of the application",
    "pages.help_page": "a description",
    "pages.opensearch": "a description",
    "pages.robots": "a description",
    "pages.settings": "preferences of the reader",
    "pages.save_settings": "preferences of the reader",
    "api.openapi": "a description",
    "explore.vega": "a script of the application",
    "access.show": "for administrators",
    "access.add_rule": "for administrators",
    "access.remove_rule": "for administrators",
    "access.show_log": "for administrators",
    "picture_pages.upload": "the list of pictures, by another order",
    "picture_api.like_image": "the list of pictures, by another order",
    "pages.searches": "searches of the reader",
    "login.show": "a form",
    "login.log_in": "writes",
    "login.log_out": "writes",
    "playback.off": "leads to playback",
    "cdx.add_lines": "writes, with a token",
    "cdx.delete_lines": "writes, with a token",
    "crawl_editor.new_crawl": "specifications are written by curators",
    "crawl_editor.save_new_crawl": "writes",
    "crawl_editor.edit_crawl": "specifications are written by curators",
    "crawl_editor.save_crawl": "writes",
    "crawl_editor.restore_version": "writes",
    "crawls.download": "specifications are written by curators",
    "crawls.show_versions": "specifications are written by curators",
    "monitor.part": "what a crawler did, not what the archive holds",
    "monitor.chart_picture": "what a crawler did, not what the archive holds",
    "crawl_api.crawl_monitor": "what a crawler did, not what the archive holds",
    "queue.take_updates": "for crawlers, with a token",
    "queue.counts": "for crawlers, with a token",
    "queue.finish": "for crawlers, with a token",
    "queue.lease_next": "for crawlers, with a token",
    "queue.release": "for crawlers, with a token",
}
"""Endpoints that show nothing which could be hidden, and why."""

COMMANDS: Mapping[str, Sequence[str]] = {
    "files": ["files", "files --json"],
    "stats": ["stats", "stats --json"],
    "dump": [
        "dump documents",
        "dump dates",
        "dump captures",
        "dump facets",
        "dump inlinks",
        "dump crawls",
        "dump queue",
        "dump quality",
        "dump pictures",
        "dump files",
    ],
    "export": [
        "export captures {out} --quiet",
        "export links {out} --quiet",
        "export results - quarry --format json --field dates --field url --field title",
        "export results {out}.warc.gz quarry --with-resources --quiet",
    ],
    "wacz": [
        "wacz {out}.wacz quarry --quiet",
        "wacz {out}.wacz host:{host} --quiet",
        "wacz {out}.wacz quarry --with-resources --quiet",
    ],
    "search": [
        "search quarry",
        "search quarry --json --facets --collapse none",
        f"search {SECRET}",
        "search --scroll --csv",
        "search host:{host}",
        "search anchor:anchor --explain",
    ],
    "show": ["show {url}", "show {id} --json", "show {id} --text"],
    "facets": ["facets --by site", "facets --json --by year", "facets --where site={host}"],
    "links": ["links {url}", "links {host} --json", "links {url} --out"],
    "missing": ["missing", "missing --json", "missing --seeds"],
    "repair": ["repair", "repair --json"],
    "kibana": ["kibana"],
    "access list": ["access list --json"],
    "access log": ["access log --json"],
    "access test": ["access test {url}"],
    "trends": ["trends quarry --json"],
    "words": ["words quarry --json"],
    "pictures": ["pictures --json", f"pictures {SECRET} --json", "pictures chisel --json"],
    "quality": ["quality", "quality --json", "quality --host {host}"],
    "dates list": ["dates list --json"],
    "dates orphans": ["dates orphans --json"],
    "crawls links": ["crawls links stones --json", "crawls links stones --host {host}"],
    "crawls list": ["crawls list --json"],
    "compare": [f"compare {COLLECTION} --spec stones --json --quiet"],
    "triples export": ["triples export {out}.nq"],
    "triples query": ["triples query 'SELECT * {{?s ?p ?o}} ORDER BY ?s ?p ?o' --format json"],
    "due": ["due --at 2030 --json --quiet"],
    "queue counts": ["queue counts --json"],
    "queue export": ["queue export"],
    "queue list": ["queue list --json"],
}
"""The lines of each command."""

QUIET: Mapping[str, str] = {
    "import": "writes",
    "access add": "writes",
    "access import": "writes",
    "access export": "refuses without --unrestricted",
    "access remove": "writes",
    "users add": "writes",
    "users list": "accounts, not what the archive holds",
    "users password": "writes",
    "users remove": "writes",
    "users role": "writes",
    "build-pictures": "writes",
    "takedown": "writes",
    "watch": "writes",
    "check": "maintains: prints counts",
    "render": "renders with a browser what search finds",
    "serve": "serves the routes",
    "build-facets": "writes",
    "invert-links": "writes",
    "check-playback": "writes",
    "dedup-cdx": "reads files that are given",
    "revisits": "reads files that are given",
    "savings": "reads files that are given",
    "add-dates": "writes",
    "dates attach": "writes",
    "dates detach": "writes",
    "dates drop": "writes",
    "dedup-warc": "reads files that are given",
    "cdx": "reads files that are given",
    "cdx-load": "writes",
    "zipnum build": "reads files that are given",
    "zipnum convert": "reads files that are given",
    "zipnum get": "reads files that are given",
    "zipnum merge": "reads files that are given",
    "zipnum prefix": "reads files that are given",
    "zipnum repair": "reads files that are given",
    "zipnum verify": "reads files that are given",
    **{
        f"spark {job}": "reads files that are given"
        for job in (
            "cdx",
            "dedup",
            "extract",
            "facets",
            "links",
            "revisits",
            "splits",
            "submit",
            "zipnum",
        )
    },
    "crawls add": "writes",
    "crawls check": "reads files that are given",
    "crawls remove": "writes",
    "crawls restore": "writes",
    "crawls show": "specifications are written by curators",
    "crawls versions": "specifications are written by curators",
    "triples build": "writes",
    "cdx-server": "serves the routes",
    "steer": "writes, for a crawler",
    "queue add": "writes",
    "queue blacklist": "writes",
    "queue deliver": "for crawlers",
    "queue lift": "writes",
    "heritrix": "for crawlers",
    "monitor": "sums of all captures; hosts are looked at in tests/cli/test_monitor.py",
}
"""Commands that print nothing which could be hidden, and why."""

_VARYING = (
    (r'"took_ms": ?[\d.]+', '"took_ms": 0'),
    (r"[\d.,]+ ?ms\b", "0 ms"),
    (r"[\d.,]+ s\b", "0 s"),
    # What words weigh depends on all texts of an archive; that tells of no document.
    (r'"(score|text)": ?[\d.e-]+', '"score": 0'),
    (r"\b(score|text) [\d.]+", "score 0"),
    (r"urn:uuid:[0-9a-f-]{36}", "urn:uuid"),
    (r"\b20(2[4-9]|3\d)-\d\d-\d\d[T ][\d:.]+\S*", "today"),
    (r"\b20(2[4-9]|3\d)[01]\d[0-3]\d\d{6}\b", "today"),
    (r'"bytes": ?(\d+|null)', '"bytes": 0'),
    (r'"number": \d+', '"number": 0'),
    (r"nwx-test-[0-9a-f]+", "prefix"),
    (r"/(hidden|never)/", "/archive/"),
    (r'"[0-9a-f]{24}"', '"stamp"'),
)
_MOST_LINES = 30
_KEPT_HEADERS = ("Location", "Content-Type", "Link", "Memento-Datetime", "Content-Disposition")


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is asked for, by all its names; `action` is the rule about it."""

    capture: Capture
    action: Action = Action.ALLOW
    picture: Picture | None = None

    def names(self, home: Capture, out: str = "") -> dict[str, str]:
        """Return what stands for the names in braces."""
        held = self.capture
        return {
            "url": quote(held.url, safe=":/"),
            "raw_url": held.url,
            "image": quote(f"{held.url}quagga.png", safe=":/"),
            "host": held.host,
            "time": held.timestamp,
            "id": held.document_id,
            "digest": held.digest,
            "capture": quote(
                capture_id(held.collection, held.source_file, held.source_file_offset), safe=""
            ),
            "home_id": home.document_id,
            "record": record_id(held),
            "picture": self.picture.id if self.picture else held.document_id,
            "hash": f"{self.picture.hash or 0:016x}" if self.picture else "0" * 16,
            "out": out,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer without what differs between any two archives."""

    status: int
    text: str
    headers: tuple[str, ...] = ()


def normal(text: str) -> str:
    """Return a text without what differs between any two archives."""
    for pattern, instead in _VARYING:
        text = re.sub(pattern, instead, text)
    return text


def difference(hidden: Answer, never: Answer) -> str:
    """Return the first lines in which two answers differ."""
    pieces = [re.split(r"(?<=[\n>,])", one.text) for one in (hidden, never)]
    lines = [line for line in ndiff(*pieces) if line[0] in "+-"]
    return "".join(f"\n{line.strip()[:200]}" for line in lines[:_MOST_LINES])


def asked(client: FlaskClient, address: str) -> Answer:
    """Return the answer to a request, the last one where it says that work is under way."""
    for _ in range(1_000):
        with client.get(address) as found:
            headers = tuple(f"{name}: {found.headers.get(name, '')}" for name in _KEPT_HEADERS)
            text = found.get_data().decode("latin-1")
        if "data-under-way" not in text:
            break
        time.sleep(0.05)
    return Answer(found.status_code, normal(text), headers)


def printed(archive: Archive, arguments: Sequence[str], out: Path) -> Answer:
    """Return what a command printed, and wrote into a folder that is empty before."""
    with chdir(out):
        code, text = archive.nwx(*arguments)
    texts = [text.replace(str(out), "out"), *map(_written, sorted(out.rglob("*")))]
    shutil.rmtree(out)
    return Answer(code, normal("\n".join(texts)))


def _written(path: Path) -> str:
    """Return the name of a file and what is in it."""
    if path.is_dir():
        return path.name
    if path.suffix == ".wacz":
        with ZipFile(path) as file:
            packed = [file.read(name) for name in sorted(file.namelist()) if "archive/" in name]
        content = b"".join(gzip.decompress(one) for one in packed)
    elif path.suffix == ".parquet":
        content = str(pl.read_parquet(path).rows()).encode()
    elif path.suffix == ".gz":
        content = gzip.decompress(path.read_bytes())
    else:
        content = path.read_bytes()
    return f"{path.name}\n{content.decode('latin-1')}"


def endpoints(app: Flask) -> set[str]:
    """Return the names of all routes of an application."""
    return {rule.endpoint for rule in app.url_map.iter_rules()}


def command_names(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Give the names of all commands, those in groups with the names of these."""
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from command_names(found, (*path, name))


def is_about_one(template: str) -> bool:
    """Tell whether a request names what it asks for."""
    return bool(re.search(r"(?<!\{)\{(?!out\}|\{)\w+\}", template))


def home_of(captures: Sequence[Capture]) -> Capture:
    """Return the first capture of the page that is shown."""
    return min((one for one in captures if one.url == HOME), key=lambda one: one.timestamp)
