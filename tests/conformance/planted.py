"""Two archives that must look the same: one has hidden material, the other never had it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from nwx.cli.main import cli
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.errors import NwxError
from nwx.extract.enrichers import ENRICHERS
from nwx.importing import ImportOptions, import_files
from nwx.keys import capture_id
from nwx.model import Capture, RenderPlace
from nwx.settings import Settings
from nwx.values.urlkeys import urlkey
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.conformance.engines import new_archive
from tests.pictured import photograph
from tests.renders import page_information, picture, render
from tests.warc_records import http_response, warc_bytes, write_records

HOME = "http://www.quarry.example/"
ABOUT = f"{HOME}about"
UNSEEN = "http://unseen.example/linked"
"""A hidden URL that a visible page links to."""

FIRST, LATER, HIDDEN_DATE = "2010-01-01T00:00:00Z", "2012-05-01T00:00:00Z", "2019-06-01T00:00:00Z"
HOSTS = {action: f"quagga-{action}.example" for action in Action if action is not Action.ALLOW}
"""The hidden hosts, by the actions of their rules."""

PLANTED = {action: f"http://{host}/" for action, host in HOSTS.items()}
"""The pages of these hosts."""

SCOPED = {
    name: f"http://tapir-{name}.example/" for name in ("collection", "file", "digest", "years")
}
"""Pages hidden by rules about something other than their URL and date."""

SECRET = "okapi"
"""A word in titles, texts and anchors of hidden pages, but in no page URL."""

COLLECTION = "stones"
HIDDEN_COLLECTION = "tapirs"
HIDDEN_FILE, COLLECTED_FILE = "tapir-file.warc.gz", "tapir.warc.gz"


def page(url: str, date: str, title: str, body: str, **fields: str) -> bytes:
    """Return a page record."""
    word = SECRET if SECRET in title.lower() else title.split()[0].lower()
    told = f"<title>{title}</title><meta property='og:title' content='{title}'>" + "".join(
        f"<meta name={name} content='{word} 1'>" for name in ("generator", "keywords")
    )
    told += f"<link rel=license href='http://{word}.example/terms'>"
    text = f"<html lang=en><head>{told}</head><body>{body}</body></html>"
    heads = (f"Server: {word}-{date[:4]}", f"Last-Modified: {date[:4]}-01-0{len(word) % 7 + 1}")
    block = http_response(text.encode(), "text/html; charset=utf-8", *heads)
    address = {"WARC_IP_Address": f"192.0.2.{len(word)}"}
    return warc_bytes("response", block, id=f"{url} {date}", url=url, date=date,
                      **fields | address)  # fmt: skip


def resource(url: str, date: str, body: bytes, content_type: str) -> bytes:
    """Return a record of a page's resource."""
    block = http_response(body, content_type)
    return warc_bytes("response", block, id=f"{url} {date}", url=url, date=date)


def photo(url: str, date: str, text: str, latitude: int) -> bytes:
    """Return a record of an image with a position."""
    taken = photograph((latitude, 0, 0), (8, 0, 0), taken=f"2009:01:{latitude} 00:00:00",
                       of=picture(text=text))  # fmt: skip
    return resource(url, date, taken, "image/jpeg")


def renders(url: str, date: str, text: str) -> list[bytes]:
    """Return the records of a page's screenshot, text and resource list."""
    return [
        render(f"urn:view:{url}", picture(text=text), "image/png", date),
        render(f"urn:text:{url}", text.encode(), "text/plain", date),
        render(f"urn:pageinfo:{url}", page_information(url, {url: 200}), "application/json", date),
    ]


SHOWN = [
    page(
        HOME,
        FIRST,
        "The quarry",
        f"<p>Slate of the quarry.</p><a href=/about>About us</a><a href='{UNSEEN}'>Elsewhere</a>"
        "<link rel=stylesheet href=/style.css><img src=/logo.png alt='a chisel'>"
        "<img src=/gone.png>",
    ),
    page(HOME, LATER, "The quarry", "<p>Marble of the quarry.</p><a href=/about>About us</a>"),
    page(ABOUT, FIRST, "About the quarry", f"<p>Open on Mondays.</p><a href='{HOME}'>Home</a>"),
    resource(f"{HOME}style.css", FIRST, b"body { color: red }", "text/css"),
    photo(f"{HOME}logo.png", FIRST, "logo", 11),
    *renders(HOME, FIRST, "view"),
]


def _scoped(name: str) -> list[bytes]:
    url = SCOPED[name]
    body = f"<p>An okapi of the quarry, {name}.</p><a href='{HOME}'>okapi</a><img src=/tapir.png>"
    return [
        page(url, LATER, f"Okapi {name}", body),
        photo(f"{url}tapir.png", LATER, name, 22),
        *renders(url, LATER, f"okapi {name}"),
    ]


def _planted() -> Iterator[bytes]:
    for action, url in PLANTED.items():
        yield page(
            url,
            LATER,
            f"Okapi {action}",
            f"<p>An okapi of the quarry, {action}.</p><a href='{HOME}'>okapi anchor</a>"
            f"<a href='{PLANTED[Action.EXCLUDE]}'>okapi inside</a>"
            "<img src=/quagga.png alt=okapi><img src=/quagga-gone.png>",
        )
        yield photo(f"{url}quagga.png", LATER, f"okapi {action}", 22)
        yield from renders(url, LATER, f"okapi {action}")
    yield page(UNSEEN, LATER, "Okapi linked", f"<p>okapi</p><a href='{ABOUT}'>okapi</a>")
    yield page(HOME, HIDDEN_DATE, "The okapi quarry", "<p>Okapi news of the quarry.</p>")
    yield page(ABOUT, HIDDEN_DATE, "About the quarry",
               f"<p>Open on Mondays.</p><a href='{HOME}'>Home</a>")  # fmt: skip


def _digest_rules(archive: Engine) -> list[AccessRule]:
    """Return rules that match the digests of hidden records."""
    return [
        AccessRule("", Action.EXCLUDE, Scope(digest=one.digest))
        for one, _ in archive.captures_since("")
        if "tapir-digest" in one.url
    ]


_ENRICHERS = tuple(
    name for name, one in ENRICHERS.items() if not one.package or find_spec(one.package)
)
RULES = (
    AccessRule("", Action.EXCLUDE, Scope(collection=HIDDEN_COLLECTION)),
    AccessRule("", Action.EXCLUDE, Scope(source_file=HIDDEN_FILE)),
    AccessRule(
        "",
        Action.EMBARGO,
        Scope(prefix="example,tapir-years)/"),
        years=900,
        reason="told for embargo",
    ),
    *(
        AccessRule(
            "",
            action,
            Scope(url=host, prefix=f"example,quagga-{action})/"),
            until="29990101000000" if action is Action.EMBARGO else "",
            addresses=("10.0.0.0/8",) if action is Action.LOCAL else (),
            reason=f"told for {action}",
        )
        for action, host in HOSTS.items()
    ),
    AccessRule("", Action.EXCLUDE, Scope(prefix=urlkey(UNSEEN), is_exact=True)),
    AccessRule(
        "",
        Action.EXCLUDE,
        Scope(prefix="example,quarry", date_from="20180101000000", date_to="20991231235959"),
    ),
)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of a test, and the folder of its files."""

    engine: Engine
    folder: Path
    triples: Path

    @property
    def settings(self) -> Settings:
        """The settings of the archive and its triples."""
        return replace(settings_of(self.engine), triples=str(self.triples))

    def nwx(self, *arguments: object) -> tuple[int, str]:
        """Run a command on the archive; return its exit code and all its output."""
        given = ["--engine", self.engine.address]
        if isinstance(self.engine, SearchServerEngine):
            given += ["--prefix", self.engine._settings.prefix]
        environment = {"NWX_TRIPLES": str(self.triples)}
        ran = CliRunner().invoke(cli, [*given, *map(str, arguments)], env=environment)
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            if not isinstance(ran.exception, NwxError):
                raise ran.exception
            return 1, f"{ran.output}{ran.exception}"
        return ran.exit_code, ran.output

    def done(self, *arguments: object) -> None:
        """Run a command that must succeed."""
        code, text = self.nwx(*arguments)
        assert code == 0, (arguments, text)


@contextmanager
def planted_pair(
    kind: str, folder: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Archive, Archive]]:
    """Yield an archive with hidden material, and one without; both have the rules."""
    hidden, never = folder / "hidden", folder / "never"
    hidden.mkdir()
    never.mkdir()
    shown = write_records(folder / "quarry.warc.gz", SHOWN)
    planted = write_records(
        folder / "quagga.warc.gz", [*_planted(), *_scoped("digest"), *_scoped("years")]
    )
    filed = write_records(folder / HIDDEN_FILE, _scoped("file"))
    collected = write_records(folder / COLLECTED_FILE, _scoped("collection"))
    with (
        new_archive(kind, hidden, request) as first,
        new_archive(kind, never, request) as second,
        first() as one,
        second() as other,
    ):
        with_hidden = Archive(one, folder, hidden / "triples")
        without = Archive(other, folder, never / "triples")
        fill(with_hidden, [shown, planted, filed, collected])
        fill(without, [shown])
        rules = (*RULES, *_digest_rules(one))
        for archive in (one, other):
            archive.access_index().put(rules, "test")
            archive.refresh()
        yield with_hidden, without


def fill(archive: Archive, files: Sequence[Path]) -> None:
    """Import files, and store entries in every index."""
    engine = archive.engine
    engine.create()
    for file in files:
        hidden = file.name == COLLECTED_FILE
        collection = HIDDEN_COLLECTION if hidden else COLLECTION
        options = ImportOptions(jobs=1, collection=collection, enrich=_ENRICHERS)
        import_files(engine, settings_of(engine), expand([str(file)]), options)
    engine.refresh()
    captures = [one for one, _ in engine.captures_since("")]
    pages = [one for one in captures if one.content_type_norm == "html"]
    views = {one.url: one for one in captures if one.url.startswith("urn:view:")}
    engine.quality_index().put([_score(one, views, archive.folder) for one in pages])
    _analyse(engine, pages)
    engine.refresh()
    archive.done("build-facets", "--quiet")
    archive.done("invert-links", "--quiet")
    archive.done("build-pictures", "--quiet")
    archive.done("triples", "build", "--quiet")
    archive.done("queue", "add", "--crawl", "stones", *dict.fromkeys(one.url for one in pages))


def _score(held: Capture, views: Mapping[str, Capture], folder: Path) -> PlaybackScore:
    view = views.get(f"urn:view:{held.url}", held)
    path = str(folder / view.source_file)
    place = RenderPlace(path, view.source_file_offset, view.record_length or 1)
    return PlaybackScore(
        id=capture_id(held.collection, held.source_file, held.source_file_offset),
        collection=held.collection,
        url=held.url,
        urlkey=held.urlkey,
        host=held.host,
        domain=held.domain,
        timestamp=held.timestamp,
        checked="20260101120000",
        rules="1",
        score=0.5,
        faults=(Fault("missing", f"{held.url}gone.png", 404),),
        faults_total=1,
        crawl_view=place,
        resources=(urlkey(f"{held.url}gone.png"),),
    )


def _analyse(engine: Engine, pages: Sequence[Capture]) -> None:
    index = engine.crawl_index()
    index.save_specification("stones", "v1", "name = 'stones'\n")
    index.put_scores(
        [
            DocumentScore(
                "stones",
                "v1",
                held.document_id,
                held.url,
                held.timestamp,
                0.5,
                links=(LinkScore(f"{held.url}next", 0.5, "content", {"near": 0.5}, "keyword"),),
                entities=(("Slate", 2),),
            )
            for held in pages
        ]
    )
