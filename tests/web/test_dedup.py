"""/dedup, which crawlers query."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource
from nwx.engine.base import Engine
from nwx.errors import EngineUnavailableError
from nwx.model import Batch, SourceFile
from nwx.values.digests import DigestForm, spell
from tests.conformance.archive import capture, sha1
from tests.conformance.engines import KINDS, new_archive
from webapp import create_app
from webapp.cdx.service import CdxService
from webapp.server.small_servers import create_cdx_app

SAME = sha1("payload")
OWN, OTHER = "http://a.example/page?x=1&y=2", "http://b.example/copy"


@pytest.fixture(scope="module", params=KINDS)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """Three originals of one payload, only one of whose files exists, and a revisit."""
    folder: Path = tmp_path_factory.mktemp("dedup")
    (folder / "old.warc.gz").touch()
    captures = (
        capture(OWN, "2010", digest=SAME, source_file="old.warc.gz", offset=7),
        capture(OWN, "2012", digest=SAME, source_file="new.warc.gz", collection="two"),
        capture(OTHER, "2014", digest=SAME, source_file="other.warc.gz"),
        capture(OWN, "2016", digest=SAME, record_type="revisit"),
    )
    names = {one.source_file: one.collection for one in captures}
    files = tuple(
        SourceFile(collection, name, str(folder / name), 1, "")
        for name, collection in names.items()
    )
    with new_archive(request.param, folder, request) as opener, opener() as opened:
        opened.create()
        opened.write(Batch(captures=captures, files=files))
        opened.refresh()
        yield opened


@pytest.fixture
def client(engine: Engine) -> FlaskClient:
    """A client of the whole application."""
    return create_app(engine).test_client()


def ask(client: FlaskClient, code: int = 200, **asked: object) -> dict[str, object]:
    answer = client.get("/dedup", query_string=asked)
    assert answer.status_code == code, answer.text
    found: dict[str, object] = answer.get_json()
    return found


@pytest.mark.parametrize("form", DigestForm)
def test_a_digest_is_found_in_any_spelling_and_given_back_in_it(
    client: FlaskClient, form: DigestForm
) -> None:
    digest = spell(SAME, form)
    assert ask(client, digest=digest, url=OWN, max_age=100_000) == {
        "found": True,
        "digest": digest,
        "url": OWN,
        "timestamp": "20120101000000",
        "date": "2012-01-01T00:00:00Z",
        "mime": "text/html",
        "status": 200,
        "size": 1000,
        "collection": "two",
        "filename": "new.warc.gz",
        "offset": ask(client, digest=SAME, url=OWN)["offset"],
        "length": 333,
    }


def test_policies(client: FlaskClient) -> None:
    assert ask(client, digest=SAME)["url"] == OTHER
    assert ask(client, digest=SAME, url=OWN, scope="any")["url"] == OWN
    assert ask(client, digest=SAME, url="http://c.example/", scope="any")["url"] == OTHER
    there = ask(client, digest=SAME, url=OWN, there=1)
    assert (there["filename"], there["offset"]) == ("old.warc.gz", 7)
    for policy in (
        {"url": "http://c.example/"},
        {"min_size": 1001},
        {"size": 5, "min_size": 6},
        {"types": "image/*,video/*"},
        {"not_types": "text/html"},
        {"mime": "Image/PNG; x=y", "not_types": "image/*"},
        {"max_age": 30, "at": "20160101"},
        {"collection": "three"},
        {"there": 1, "collection": "two"},
    ):
        found = ask(client, digest=SAME, **policy)
        assert found["found"] is False
        assert found["reason"]


def test_the_cdx_server_alone_answers_too_where_it_has_an_archive(engine: Engine) -> None:
    server = CdxServer([EngineSource(engine)])
    alone = create_cdx_app(CdxService(server, engine=engine)).test_client()
    assert ask(alone, digest=SAME, url=OWN)["url"] == OWN
    without = create_cdx_app(CdxService(server)).test_client()
    assert without.get("/dedup", query_string={"digest": SAME}).status_code == 404


def test_what_is_not_held_is_no_error(client: FlaskClient) -> None:
    found = ask(client, digest=sha1("never met"))
    assert found["reason"] == "no capture has this payload"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "digest is missing"),
        ({"digest": "xyz"}, "not a known kind of digest"),
        ({"digest": SAME, "scope": "url"}, "needs the URL"),
        ({"digest": SAME, "scope": "all"}, "choose one of url, any"),
        ({"digest": SAME, "max_age": "nan"}, "number of days"),
        ({"digest": SAME, "max_age": "-1"}, "number of days"),
        ({"digest": SAME, "max_age": "1e3"}, "number of days"),
        ({"digest": SAME, "max_age": "٣"}, "number of days"),
        ({"digest": SAME, "min_size": ["1", "2"]}, "different values"),
        ({"digest": SAME, "at": "yesterday"}, "yesterday"),
        ({"digest": SAME, "min_size": "1e9"}, "min_size"),
        ({"digest": SAME, "there": "perhaps"}, "choose one of 1, 0"),
        ({"digest": SAME, "policy": "all"}, "no parameter 'policy'"),
        ({"digest": SAME, "url": "x" * 20_000}, "characters"),
        ({"digest": SAME, "types": ",".join("x" * 60)}, "60 values"),
    ],
)
def test_what_cannot_be_answered(client: FlaskClient, asked: dict[str, object], words: str) -> None:
    error = ask(client, 400, **asked)["error"]
    assert isinstance(error, dict)
    assert words in error["message"]


def test_an_outage_is_no_miss(
    client: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: str) -> None:
        raise EngineUnavailableError("the server is away")

    monkeypatch.setattr(type(engine), "captures_by_digest", away)
    assert ask(client, 503, digest=SAME)["error"] == {
        "status": 503,
        "message": "the server is away",
    }


def test_crawlers_are_told_the_sha1_of_a_payload_known_by_another_digest(
    client: FlaskClient, engine: Engine
) -> None:
    own, further = f"sha256:{'5' * 64}", sha1("by two digests")
    url = "http://a.example/two-digests"
    engine.write(Batch(captures=(capture(url, "2018", digest=own),)))
    engine.refresh()
    asked = {"url": url, "fl": "digest", "limit": -1}
    told = ["5" * 64, spell(further, DigestForm.BARE_HEX), "5" * 64]
    for wanted, address in zip(told, ("hex", "hex", "ia"), strict=True):
        answer = client.get(f"/cdx/{address}", query_string=asked)
        assert answer.text == f"{wanted}\n"
        engine.digests.add([(further, own)])
    assert client.get("/cdx/base32", query_string=asked).text == f"{further[5:]}\n"
    assert client.get("/cdx/sha256", query_string=asked).text == f"{own}\n"
    digest = spell(further, DigestForm.HEX)
    assert ask(client, digest=digest, url=url, max_age=100_000)["found"] is True
    for mark, found in (("", own[7:]), ("!", "")):
        both = {**asked, "filter": f"{mark}digest:{digest}"}
        assert client.get("/cdx/ia", query_string=both).text.strip() == found


def test_crawlers_are_told_the_sha256_of_a_payload_known_by_its_sha1(
    client: FlaskClient, engine: Engine
) -> None:
    own, further = sha1("asked by SHA-256"), f"sha256:{'6' * 64}"
    url = "http://a.example/asked-by-sha256"
    engine.write(Batch(captures=(capture(url, "2018", digest=own),)))
    engine.refresh()
    asked = {"url": url, "fl": "digest", "limit": -1}
    for wanted in (spell(own, DigestForm.HEX), further):
        assert client.get("/cdx/sha256", query_string=asked).text == f"{wanted}\n"
        engine.digests.add([(further, own)])


def test_originals_have_the_digest_asked_for_too(client: FlaskClient, engine: Engine) -> None:
    own, further = sha1("with an original"), f"sha256:{'7' * 64}"
    url = "http://a.example/with-an-original"
    original, revisit = (
        capture(url, year, digest=own, record_type=kind, offset=place)
        for place, (year, kind) in enumerate((("2017", "response"), ("2018", "revisit")))
    )
    engine.write(Batch(captures=(original, revisit)))
    engine.refresh()
    engine.digests.add([(further, own)])
    asked = {"url": url, "fl": "digest", "limit": 1, "sort": "closest", "closest": "2018"}
    asked["withOriginals"] = "true"
    assert client.get("/cdx/sha256", query_string=asked).text == f"{further}\n{further}\n"
