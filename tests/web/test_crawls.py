"""The pages of crawls: list, editor, versions, and links by relevance."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from tests.web.archive import batch
from webapp import create_app

TOKEN = "a-token"
TEXT = "# votes & more <b>\nname = 'votes'\nkeywords = ['vote', 'poll']\n"
PAGE = ("votes", "v1", "1", "http://page.test/", "20260102030405", 0.5)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        yield engine


@pytest.fixture
def client(archive: Engine) -> FlaskClient:
    return create_app(archive, queue_token=TOKEN).test_client()


def save(client: FlaskClient, text: str = TEXT, **given: object) -> TestResponse:
    address = given.pop("address", "/crawls/new")
    form = {"text": text.replace("\n", "\r\n"), "token": TOKEN, "action": "save", "number": 0}
    headers = given.pop("headers", {})
    return client.post(str(address), data=form | given, headers=headers)  # type: ignore[arg-type]


def test_a_specification_is_written_and_changed(client: FlaskClient, archive: Engine) -> None:
    assert "No crawl specifications yet" in client.get("/crawls").text
    assert '<textarea id="text"' in client.get("/crawls/new").text
    saved = save(client)
    assert (saved.status_code, saved.location) == (303, "/crawls/votes?saved=1")
    assert archive.crawl_index().versions("votes")[0].text == TEXT
    shown = client.get(saved.location).text
    assert "Saved as number 1" in shown
    assert "poll" in shown
    assert "votes" in client.get("/crawls").text
    edited = client.get("/crawls/votes/edit").text
    assert "# votes &amp; more &lt;b&gt;\nname = &#39;votes&#39;" in edited
    again = save(client, TEXT + "entities = ['Bern']\n", address="/crawls/votes/edit", number=1)
    assert again.location == "/crawls/votes?saved=2"
    assert "Bern" in client.get("/crawls/votes").text


def test_all_that_is_wrong_is_shown_and_the_text_is_kept(client: FlaskClient) -> None:
    wrong = save(client, "name = 'a b'\nkeyword = ['<script>alert(1)</script>']\n")
    assert wrong.status_code == 400
    assert "2 problems; nothing was saved" in wrong.text
    assert "did you mean &#39;keywords&#39;?" in wrong.text
    assert "<script>alert" not in wrong.text
    assert "keyword = [" in wrong.text
    assert client.get("/crawls/a%20b").status_code == 404


def test_a_check_saves_nothing_and_needs_no_token(client: FlaskClient) -> None:
    checked = save(client, action="check", token="")
    assert checked.status_code == 200
    assert "No problems" in checked.text
    assert save(client, "name = 7", action="check", token="").status_code == 400
    assert client.get("/crawls/votes").status_code == 404


@pytest.mark.parametrize(
    "given",
    [
        {"token": ""},
        {"token": "another"},
        {"headers": {"Sec-Fetch-Site": "cross-site"}},
        {"headers": {"Sec-Fetch-Site": "same-site"}},
    ],
)
@pytest.mark.parametrize("address", ["/crawls/new", "/crawls/votes/edit", "/crawls/votes/restore"])
def test_only_forms_of_these_pages_with_the_token_save(
    client: FlaskClient, archive: Engine, given: dict[str, object], address: str
) -> None:
    save(client)
    before = archive.crawl_index().versions("votes")
    text = TEXT.replace("votes'", "other'") if address.endswith("new") else f"{TEXT}#"
    assert save(client, text, address=address, number=1, **given).status_code == 403
    assert archive.crawl_index().versions("votes") == before
    assert len(archive.crawl_index().specifications()) == 1


def test_without_a_token_nothing_is_saved(archive: Engine) -> None:
    archive.crawl_index().save_specification("votes", "v1", TEXT)
    client = create_app(archive).test_client()
    for address in ("/crawls/new", "/crawls/votes/edit"):
        shown = client.get(address).text
        assert "NWX_QUEUE_TOKEN" in shown
        assert 'value="save"' not in shown
        assert save(client, address=address, number=1).status_code == 403
    assert "Restore" not in client.get("/crawls/votes/versions").text


def test_what_somebody_else_saved_is_not_replaced_unseen(client: FlaskClient) -> None:
    save(client)
    refused = save(client, f"{TEXT}#\n")
    assert refused.status_code == 409
    assert "The crawl votes already exists" in refused.text
    save(client, f"{TEXT}# two\n", address="/crawls/votes/edit", number=1)
    refused = save(client, f"{TEXT}# mine\n", address="/crawls/votes/edit", number=1)
    assert "Somebody else saved number 2 of votes meanwhile" in refused.text
    number = re.search(r'name="number" value="(\d+)"', refused.text)
    assert number is not None
    assert "# mine" in refused.text
    again = save(client, f"{TEXT}# mine\n", address="/crawls/votes/edit", number=number[1])
    assert again.location == "/crawls/votes?saved=3"


def test_examples_on_the_page_are_captured_urls_and_never_files(
    client: FlaskClient, archive: Engine, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("nothing but secrets")
    for example in (tmp_path / "secret.txt", "http://none.test/"):
        refused = save(client, f"{TEXT}like = ['{example}']\n")
        assert refused.status_code == 400
        assert "is neither a captured page" in refused.text
    assert archive.crawl_index().specifications() == []


def test_a_name_is_not_changed_by_the_editor(client: FlaskClient) -> None:
    save(client)
    other = TEXT.replace("'votes'", "'floods'")
    refused = save(client, other, address="/crawls/votes/edit", number=1)
    assert refused.status_code == 400
    assert "the name of votes cannot be changed" in refused.text


def test_long_specifications_are_left_to_the_command(client: FlaskClient, archive: Engine) -> None:
    long = TEXT + "#" * 600_000
    refused = save(client, long)
    assert refused.status_code == 400
    assert "nwx crawls add" in refused.text
    archive.crawl_index().save_specification("votes", "v1", long)
    shown = client.get("/crawls/votes/edit").text
    assert "too long for the page" in shown
    assert "<textarea" not in shown


def test_versions_are_listed_and_restored(client: FlaskClient, archive: Engine) -> None:
    save(client)
    save(client, f"{TEXT}# two\n", address="/crawls/votes/edit", number=1)
    listed = client.get("/crawls/votes/versions").text
    assert listed.count("Restore") == 1
    assert client.get("/crawls/votes/specification.toml?number=1").text == TEXT
    earlier = client.get("/crawls/votes/edit?number=1").text
    assert "# two" not in earlier
    assert 'name="number" value="2"' in earlier
    form = {"number": 1, "token": TOKEN}
    restored = client.post("/crawls/votes/restore", data=form)
    assert restored.location == "/crawls/votes?saved=3"
    assert archive.crawl_index().versions("votes")[0].text == TEXT
    assert 'name="last" value="2"' in listed
    stale = client.post("/crawls/votes/restore", data={**form, "last": 2})
    assert stale.status_code == 409 and "someone else" in stale.text
    assert archive.crawl_index().versions("votes")[0].number == 3
    for number in (0, 9, "x"):
        form = {"number": number, "token": TOKEN}
        assert client.post("/crawls/votes/restore", data=form).status_code in (400, 404)


def test_a_specification_is_downloaded_as_it_is_and_as_json(client: FlaskClient) -> None:
    save(client)
    assert client.get("/crawls/votes/specification.toml").text == TEXT
    found = client.get("/crawls/votes/specification.json")
    assert found.json == {"name": "votes", "keywords": ["vote", "poll"]}
    assert client.get("/crawls/votes/specification.xml").status_code == 404
    assert client.get("/crawls/nobody/specification.toml").status_code == 404
    assert client.get("/crawls/votes/specification.toml?number=7").status_code == 404


def test_links_come_with_what_made_their_relevance(client: FlaskClient, archive: Engine) -> None:
    save(client)
    assert "No page was analysed yet" in client.get("/crawls/votes").text
    links = [
        LinkScore(f"http://h{n % 3}.test/{n}", n / 100, "content", {"document": n / 100})
        for n in range(60)
    ]
    strange = LinkScore("javascript:alert(1)", None, "login", {}, "<b>blacklist</b> host")
    score = DocumentScore(*PAGE, links=(*links, strange))
    archive.crawl_index().put_scores([score])
    first = client.get("/crawls/votes").text
    assert "1 document analysed, with links to 61 URLs" in first
    assert "of 1 analysed page is relevant" in first
    assert "earlier version of the specification" in first
    assert first.index("0.590") < first.index("0.580") < first.index("0.100")
    assert "0.090" not in first
    assert "the page 0.59" in first
    second = client.get("/crawls/votes?page=2").text
    assert "blacklisted" in second
    assert 'href="javascript:' not in second
    assert "&lt;b&gt;blacklist&lt;/b&gt; host" in second
    one_host = client.get("/crawls/votes?host=H1.test").text
    assert "http://h1.test/" in one_host
    assert "http://h2.test/" not in one_host
    assert "no further URLs" in client.get("/crawls/votes?page=9").text
    assert "No analysed page links to" in client.get("/crawls/votes?host=nowhere.test").text
    assert client.get("/crawls/votes?version=v1").status_code == 200
    assert client.get("/crawls/votes?version=nothing").status_code == 200
    assert client.get("/crawls/votes?page=0").status_code == 400


def test_a_specification_that_is_no_longer_taken_is_shown(
    client: FlaskClient, archive: Engine
) -> None:
    archive.crawl_index().save_specification("votes", "v1", "name = 'votes'\nolder = 1\n")
    assert "cannot read the specification" in client.get("/crawls/votes").text
    assert "older = 1" in client.get("/crawls/votes/edit").text


def test_programs_ask_for_crawls_and_their_links(client: FlaskClient, archive: Engine) -> None:
    assert client.get("/api/crawls").json == []
    save(client)
    links = (
        LinkScore("http://a.test/", 0.75, "content", {"document": 0.25, "near": 0.5}, "keyword"),
        LinkScore("http://b.test/", None, "login", {}, "blacklist host b.test"),
    )
    archive.crawl_index().put_scores([DocumentScore(*PAGE, links=links)])
    (found,) = client.get("/api/crawls").json or ()
    assert (found["name"], found["number"]) == ("votes", 1)
    assert found["analysed"] == [{"version": "v1", "documents": 1, "urls": 2}]
    listed = client.get("/api/crawls/votes/links").json or []
    assert [one["relevance"] for one in listed] == [0.75, None]
    assert listed[0]["parts"] == {"document": 0.25, "near": 0.5}
    assert listed[0]["via"] == "http://page.test/"
    assert client.get("/api/crawls/votes/links?host=B.test&limit=5").json == listed[1:]
    assert client.get("/api/crawls/votes/links?limit=0").json == []
    assert client.get("/api/crawls/nobody/links").status_code == 404
    assert client.get("/api/crawls/votes/links?limti=5").status_code == 400


def test_form_and_text_are_made_of_each_other(client: FlaskClient) -> None:
    begin = client.get("/crawls/new").text
    shown = re.search('id="editor-shown" value="([0-9a-f]+)"', begin)
    assert shown
    text = 'name = "stones"\nkeywords = ["slate"]\n[limits]\ndepth = 3\n'
    to_form = client.post("/crawls/new", data={"text": text, "action": "to-form"}).text
    assert re.search(r"<textarea id=.field-keywords.[^>]*>\s*slate</textarea>", to_form)
    given = {"name": "stones", "keywords": "slate\r\nquarry", "shown": shown[1], "text": text}
    to_text = client.post("/crawls/new", data={**given, "action": "to-text"}).text
    assert "&#34;quarry&#34;" in to_text
    assert "depth = 3" in to_text
    assert "Archived pages with these keywords" in to_text
    broken = client.post("/crawls/new", data={"text": "name =", "action": "to-form"})
    assert broken.status_code == 200
