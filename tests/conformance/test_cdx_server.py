"""The CDX server gives the same answer from every source, in each of three dialects."""

import json
from base64 import b32decode
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree

import pytest

from nwx.cdxserver.query_model import DIALECTS, parameters_of
from nwx.cdxserver.server import CdxServer, answer_xml
from nwx.errors import CdxQueryError
from nwx.model import Capture
from nwx.values.digests import DigestForm
from tests.conformance.archive import COLLECTION, sha1
from tests.conformance.captures import CAPTURES, KINDS, sources

HOME = "url=http://www.example.org/"
HOME_KEY = "org,example)/"
Wanted = Callable[[list[Capture]], list[Capture]]


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CdxServer]:
    """A CDX server with a source of each kind."""
    folder = tmp_path_factory.mktemp(request.param)
    with sources(request.param, CAPTURES, folder, request) as found:
        yield CdxServer(found)


def ask(server: CdxServer, dialect: str, question: str, **options: object) -> str:
    """Return an answer as text."""
    answer = server.answer(parameters_of(question), DIALECTS[dialect], **options)  # type: ignore[arg-type]
    return b"".join(answer.pieces).decode()


def places(server: CdxServer, dialect: str, question: str) -> list[tuple[str, ...]]:
    """Return urlkey, timestamp and status of the captures of an answer."""
    text = ask(server, dialect, f"{question}&fl=urlkey,timestamp,statuscode&output=text")
    return [tuple(line.split(" ")) for line in text.splitlines()]


def wanted(found: list[Capture]) -> list[tuple[str, ...]]:
    return [(one.urlkey, one.timestamp, str(one.status_code or "-")) for one in found]


HOMES = [one for one in CAPTURES if one.urlkey == HOME_KEY]
ORIGINALS = [one for one in HOMES if one.record_type != "revisit"]


def begins(*keys: str) -> list[Capture]:
    return [one for one in CAPTURES if one.urlkey.startswith(keys)]


FIRSTS = list({one.urlkey: one for one in CAPTURES[::-1]}.values())
ALIKE = {
    "exact": (HOME, HOMES),
    "nothing": ("url=http://nowhere.example/", []),
    "no scheme": ("url=example.org", HOMES),
    "prefix": ("url=http://example.org/a&matchType=prefix", begins("org,example)/a")),
    "wildcard prefix": ("url=http://example.org/a*", begins("org,example)/a")),
    "prefix with a slash": ("url=http://example.org/a/*", begins("org,example)/a/")),
    "host": ("url=http://example.org/a&matchType=host", begins("org,example)/")),
    "domain": ("url=example.org&matchType=domain", begins("org,example)/", "org,example,")),
    "wildcard domain": ("url=*.example.org", begins("org,example)/", "org,example,")),
    "wildcard as it is": (f"url={quote('http://example.org/a*')}&matchType=exact", []),
    "beyond ASCII": (f"url={quote('http://example.org/é')}", begins("org,example)/%c3%a9")),
    "limit": (f"{HOME}&limit=2", HOMES[:2]),
    "from": (f"{HOME}&from=2008", [one for one in HOMES if one.timestamp >= "2008"]),
    "to": (f"{HOME}&to=2008", [one for one in HOMES if one.timestamp < "2009"]),
    "both": (f"{HOME}&from=20060102&to=20060102000000", HOMES[2:3]),
    "reverse": (f"{HOME}&sort=reverse", HOMES[::-1]),
    "reverse, some": (f"{HOME}&sort=reverse&limit=3&to=2010", HOMES[7:4:-1]),
    "closest": (f"{HOME}&sort=closest&closest=20060102000004&limit=3", HOMES[3:0:-1]),
    "closest, last": (f"{HOME}&sort=closest&closest=2030", HOMES[::-1]),
    "newest original": (f"{HOME}&limit=-1", ORIGINALS[-1:]),
    "newest originals": (f"{HOME}&limit=-2", ORIGINALS[-2:]),
    "all originals and the newest revisit": (f"{HOME}&limit=-6", sorted(
        [*ORIGINALS, HOMES[8]], key=lambda one: one.timestamp
    )),
    "what warcprox asks": (f"{HOME}&filter=%21mimetype%3Awarc%2Frevisit&limit=-1", ORIGINALS[-1:]),
    "newest in a time": (f"{HOME}&limit=-1&to=2006", HOMES[2:3]),
    "collapsed": (f"{HOME}&collapse=timestamp:4", [HOMES[n] for n in (0, 1, 4, 5, 6, 7, 8)]),
    "collapsed to the last": (
        f"{HOME}&collapseToLast=digest", [HOMES[n] for n in (1, 3, 4, 5, 8)]
    ),
    "collapsed, newest": (f"{HOME}&collapse=digest&limit=-2", ORIGINALS[-2:]),
    "urlkey collapsed": (
        "url=*.example.org&collapse=urlkey",
        [one for one in begins("org,example)/", "org,example,") if one in FIRSTS],
    ),
    "digest in another spelling": (
        f"{HOME}&filter=digest:{sha1('three')[5:]}", HOMES[6:]
    ),
    "digest with its name": (f"{HOME}&filter=digest:{sha1('three')}", HOMES[6:]),
    "offset": (f"{HOME}&offset=7", HOMES[7:]),
    "in a collection": (f"{HOME}&collection={COLLECTION}", HOMES),
    "in another": (f"{HOME}&collection=other", []),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ALIKE)
def test_all_dialects_agree(server: CdxServer, dialect: str, case: str) -> None:
    question, expected = ALIKE[case]
    assert places(server, dialect, question) == wanted(expected)


def _having(test: Callable[[Capture], bool]) -> list[Capture]:
    return [one for one in HOMES if test(one)]


HTML = _having(lambda one: one.content_type == "text/html")
FILTERS = {
    ("ia", "mimetype:text/html"): HTML,
    ("ia", "mimetype:text/.*"): _having(lambda one: one.content_type.startswith("text/")),
    ("ia", "mimetype:html"): [],
    ("ia", "~mimetype:html"): _having(lambda one: "html" in one.content_type),
    ("ia", "!statuscode:200"): _having(lambda one: one.status_code != 200),
    ("ia", "statuscode:[34]..|5"): _having(lambda one: one.status_code in (301, 404)),
    ("ia", ".*moved.*"): [],
    ("ia", ".* 404 .*"): _having(lambda one: one.status_code == 404),
    ("ia", "4:404"): _having(lambda one: one.status_code == 404),
    ("outback", "mime:text/html"): HTML,
    ("outback", "mimetype:text/h"): [],
    ("outback", "~mime:html"): _having(lambda one: "html" in one.content_type),
    ("outback", "~!mime:html"): _having(lambda one: "html" not in one.content_type),
    ("outback", "!status:200"): _having(lambda one: one.status_code != 200),
    ("pywb", "mime:html"): _having(lambda one: "html" in one.content_type),
    ("pywb", "!mimetype:html"): _having(lambda one: "html" not in one.content_type),
    ("pywb", "=mime:text/html"): HTML,
    ("pywb", "!=status:200"): _having(lambda one: one.status_code != 200),
    ("pywb", "~status:[34]"): _having(lambda one: one.status_code in (301, 404)),
    ("pywb", "~mime:html"): [],
    ("pywb", "!~mime:text"): _having(lambda one: not one.content_type.startswith("text")),
    ("pywb", "404"): _having(lambda one: one.status_code == 404),
}


@pytest.mark.parametrize(("dialect", "spec"), FILTERS)
def test_each_dialect_has_its_filters(server: CdxServer, dialect: str, spec: str) -> None:
    question = f"{HOME}&filter={quote(spec)}"
    assert places(server, dialect, question) == wanted(FILTERS[dialect, spec])


def test_several_filters_must_all_hold(server: CdxServer) -> None:
    found = places(server, "pywb", f"{HOME}&filter=mime:html&filter=!status:200")
    assert found == wanted(_having(lambda one: one.status_code == 404))


def test_text_of_each_dialect(server: CdxServer) -> None:
    digest = sha1("one")[5:]
    start = f"{HOME_KEY} 20050101000000 http://www.example.org/ text/html 200"
    for dialect, line in (
        ("ia", f"{start} {digest} 333"),
        ("outback", f"{start} {digest} - - 333 0 a.warc.gz"),
    ):
        assert ask(server, dialect, f"{HOME}&limit=1") == f"{line}\n"
    text = ask(server, "pywb", f"{HOME}&limit=1&output=text")
    assert text.replace("sha1:", "") == f"{start} {digest} - - 333 0 a.warc.gz\n"


def test_cdxj_of_each_dialect(server: CdxServer) -> None:
    for dialect in DIALECTS:
        output = "" if dialect == "pywb" else "&output=cdxj"
        for line in ask(server, dialect, f"{HOME}{output}").splitlines():
            key, timestamp, text = line.split(" ", 2)
            fields = json.loads(text)
            assert (key, fields["url"]) == (HOME_KEY, "http://www.example.org/")
            assert all(isinstance(value, str) and value != "-" for value in fields.values())
        assert (timestamp, "status" in fields) == ("20110601120000", False)
    chosen = ask(server, "pywb", f"{HOME}&limit=1&fl=urlkey,url,status")
    assert (
        chosen
        == f'{HOME_KEY} 20050101000000 {{"url": "http://www.example.org/", "status": "200"}}\n'
    )


def test_json_of_each_dialect(server: CdxServer) -> None:
    question = f"{HOME}&output=json&limit=2&fl=timestamp,statuscode,digest"
    head = ["timestamp", "statuscode", "digest"]
    digest = sha1("one")[5:]
    assert json.loads(ask(server, "ia", question)) == [
        head,
        ["20050101000000", "200", digest],
        ["20060101000000", "200", digest],
    ]
    assert json.loads(ask(server, "outback", question)) == [
        head,
        [20050101000000, 200, digest],
        [20060101000000, 200, digest],
    ]
    lines = ask(server, "pywb", question).splitlines()
    assert [json.loads(line)["timestamp"] for line in lines] == ["20050101000000", "20060101000000"]
    dicts = json.loads(ask(server, "outback", f"{HOME}&output=jsondict&fl=status&sort=reverse"))
    assert dicts[:2] == [{}, {"status": 200}]


def test_json_of_nothing(server: CdxServer) -> None:
    question = "url=http://nowhere.example/&output=json"
    assert ask(server, "ia", question) == "[]\n"
    assert len(json.loads(ask(server, "outback", question))) == 1
    assert ask(server, "pywb", question) == ""


def test_limit_0(server: CdxServer) -> None:
    assert len(places(server, "ia", f"{HOME}&limit=0")) == len(HOMES)
    assert len(places(server, "pywb", f"{HOME}&limit=0")) == len(HOMES)
    assert places(server, "outback", f"{HOME}&limit=0") == []


def test_digests_are_spelled_as_crawlers_want(server: CdxServer) -> None:
    question = f"{HOME}&fl=timestamp%2Cdigest&filter=%21mimetype%3Awarc%2Frevisit&limit=-1"
    normal = sha1("three")
    raw = b32decode(normal[5:])
    for form, digest in ((DigestForm.BARE_HEX, raw.hex()), (DigestForm.BARE_BASE32, normal[5:])):
        assert ask(server, "ia", question, digest=form) == f"20090601120000 {digest}\n"
    assert ask(server, "outback", f"{question}&digest=hex") == f"20090601120000 {raw.hex()}\n"


def test_times_collapse_with_the_status_in_pywb(server: CdxServer) -> None:
    found = places(server, "pywb", f"{HOME}&collapseTime=4")
    assert found == wanted([HOMES[n] for n in (0, 1, 4, 5, 6, 7, 8)])


def test_resume_keys_lead_through_the_whole_answer(server: CdxServer) -> None:
    everything = begins("org,example)/", "org,example,")
    question = "url=*.example.org&fl=urlkey,timestamp,statuscode&limit=4&showResumeKey=true"
    found: list[tuple[str, ...]] = []
    key = ""
    for _ in everything:
        lines = ask(server, "ia", f"{question}{key}").splitlines()
        found += [tuple(line.split(" ")) for line in lines if line.count(" ") == 2]
        if "" not in lines:
            break
        assert lines[-2] == ""
        key = f"&resumeKey={lines[-1]}"
    assert found == wanted(everything)


def test_what_is_collapsed_stays_so_behind_a_resume_key(server: CdxServer) -> None:
    question = f"{HOME}&fl=timestamp&collapse=digest&limit=1&showResumeKey=true"
    found, key = [], ""
    while True:
        lines = ask(server, "ia", f"{question}{key}").splitlines()
        found.append(lines[0])
        if len(lines) == 1:
            break
        key = f"&resumeKey={lines[-1]}"
    assert found == [HOMES[n].timestamp for n in (0, 2, 4, 5, 6)]


def test_resume_keys_of_others_are_taken(server: CdxServer) -> None:
    key = quote_plus(f"{HOME_KEY} 20090601120000!")
    found = places(server, "ia", f"{HOME}&resumeKey={key}")
    assert found == wanted(HOMES[7:])


def test_resume_keys_in_json(server: CdxServer) -> None:
    rows = json.loads(
        ask(server, "ia", f"{HOME}&output=json&fl=timestamp&limit=1&showResumeKey=true")
    )
    assert rows[:3] == [["timestamp"], ["20050101000000"], []]
    again = f"{HOME}&fl=timestamp&limit=1&resumeKey={rows[3][0]}"
    assert ask(server, "ia", again) == "20060101000000\n"


def test_pages_hold_every_capture_once(server: CdxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nwx.cdxserver.sources.BLOCK_LINES", 5)
    monkeypatch.setattr("nwx.cdxserver.sorted_sources._BLOCK_BYTES", 600)
    for question, expected in (
        ("url=*.example.org", begins("org,example)/", "org,example,")),
        (HOME, HOMES),
        (f"{HOME}&from=2006&to=2009", [one for one in HOMES if "2006" <= one.timestamp < "2010"]),
        ("url=http://nowhere.example/", []),
    ):
        counted = json.loads(ask(server, "pywb", f"{question}&showNumPages=true&pageSize=2"))
        pages = int(ask(server, "ia", f"{question}&showNumPages=true&pageSize=2"))
        assert (counted["pages"], counted["pageSize"]) == (pages, 2)
        assert pages == -(-counted["blocks"] // 2)
        found = [
            place
            for page in range(pages)
            for place in places(server, "ia", f"{question}&page={page}&pageSize=2")
        ]
        assert found == wanted(expected)
        assert places(server, "ia", f"{question}&page={pages}&pageSize=2") == []
    assert int(ask(server, "ia", "url=*.example.org&showNumPages=true&pageSize=2")) > 1
    with pytest.raises(CdxQueryError, match="last page is 0"):
        ask(server, "pywb", f"{HOME}&page=7")


def test_originals_come_with_their_revisits(server: CdxServer) -> None:
    question = f"{HOME}&sort=closest&closest=20110601120000&limit=1&withOriginals=true"
    assert places(server, "pywb", question) == wanted([HOMES[8], HOMES[6]])


def test_xml_of_openwayback(server: CdxServer) -> None:
    def asked(question: str) -> ElementTree.Element:
        pieces = answer_xml(parameters_of(question), server.source)
        return ElementTree.fromstring(b"".join(pieces))

    found = asked("q=type:urlquery+url:http%253A%252F%252Fwww.example.org%252F+date:20060102")
    times = [one.findtext("capturedate") for one in found.iter("result")]
    assert times == [one.timestamp for one in HOMES]
    assert [
        one.findtext("capturedate")
        for one in found.iter("result")
        if one.find("closest") is not None
    ] == ["20060102000000"]
    assert found.findtext("request/numreturned") == str(len(HOMES))
    assert found.findtext("results/result/file") == "a.warc.gz"
    page = asked("q=type:urlquery+url:www.example.org&count=2&start_page=2")
    assert [one.findtext("capturedate") for one in page.iter("result")] == times[2:4]
    assert page.findtext("request/numresults") == str(len(HOMES))
    urls = asked("q=type:prefixquery+url:http://example.org/a")
    assert {one.findtext("urlkey"): one.findtext("numcaptures") for one in urls.iter("result")} == {
        one.urlkey: "2" for one in begins("org,example)/a")
    }
    assert asked("q=url:nowhere.example").findtext("error/title") == "Resource Not In Archive"
    with pytest.raises(CdxQueryError):
        asked("q=url")
