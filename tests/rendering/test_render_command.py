"""`nwx render` on the command line: in the real player, and live through the real warcprox."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.cli.conftest import COMMAND, environment, run_nwx
from tests.crawling.warcprox import warcprox
from tests.rendering.crawl import recording
from tests.rendering.hostile_site import running_hostile_site
from tests.rendering.made_site.answers import MadeSite
from tests.warcs import Page, write_warc
from tests.web.chromium import find_browser

TIMESTAMP = "20060708091011"
FRAMED = "http://frames.example/"
_INNER = b"<script>if (top === self) location = '/escaped'</script><p>inner words"
PAGES = (
    Page(FRAMED, TIMESTAMP, b"<title>Frames</title><frameset cols='1*'><frame src='/inner'>"),
    Page(f"{FRAMED}inner", TIMESTAMP, b"<html><head></head><body>" + _INNER),
    Page(f"{FRAMED}escaped", TIMESTAMP, b"<title>Escaped</title>out"),
    Page(
        f"{FRAMED}moved", TIMESTAMP, b"<title>Moved</title><script>location = '/escaped'</script>"
    ),
    Page(f"{FRAMED}lost", TIMESTAMP, b"", "text/html\r\nLocation: /lost", "302 Found"),
)
PLAYER = {"PYTHONWARNINGS": "default"}
"""pywb emits warnings."""

KINDS = ["urn:view", "urn:thumbnail", "urn:fullPage", "urn:text", "onreadydom", "urn:pageinfo"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of pages with frames."""
    folder = tmp_path_factory.mktemp("framed")
    run_nwx(folder / "archive", "import", write_warc(folder / "framed.warc.gz", PAGES))
    return folder / "archive"


def records(path: Path) -> dict[str, bytes]:
    """Return the records of a file of renders by target URI."""
    with path.open("rb") as handle:
        return {
            each.rec_headers.get_header("WARC-Target-URI") or "": each.content_stream().read()
            for each in ArchiveIterator(handle)
        }


def test_pages_of_an_archive_are_rendered_once_and_can_be_imported(
    archive: Path, tmp_path: Path
) -> None:
    out, listed = tmp_path / "renders.warc.gz", tmp_path / "urls.txt"
    paths = ("", "moved", "lost", "unknown")
    listed.write_text("".join(f"{TIMESTAMP} {FRAMED}{path}\n" for path in paths) + "no url\n")
    render = ("render", "--urls", listed, "--out", out, "--browser", find_browser())
    done = run_nwx(archive, *render, "--json", **PLAYER)
    report = done.json
    assert (report["pages"], report["written"], report["missing"]) == (4, 2, 2)
    assert report["problems"] == {}
    assert f"{listed}:5: 'no url' is not the URL of a page" in done.err
    found = records(out)
    assert [f"{kind}:{FRAMED}" for kind in KINDS] == [uri for uri in found if uri.endswith(FRAMED)]
    assert found[f"urn:text:{FRAMED}"] == b"inner words", "the frame knows that it is in one"
    assert found[f"urn:text:{FRAMED}moved"] == b"out"
    assert b"<frameset" in found[f"onreadydom:{FRAMED}"]
    assert b"wombat" not in found[f"onreadydom:{FRAMED}"]
    assert set(json.loads(found[f"urn:pageinfo:{FRAMED}"])["urls"]) == {FRAMED, f"{FRAMED}inner"}
    check = [sys.executable, "-m", "warcio.cli", "check", str(out)]
    assert subprocess.run(check, check=False).returncode == 0
    again = run_nwx(archive, *render, "--json", **PLAYER).json
    assert (again["pages"], again["skipped"]) == (2, 2)
    run_nwx(tmp_path / "other", "import", out)


def test_live_pages_and_their_renders_are_archived_together(tmp_path: Path) -> None:
    listed, out = tmp_path / "urls.txt", tmp_path / "warcs" / "renders.warc.gz"
    site = MadeSite()
    home = site.pages[0].url
    listed.write_text(f"{home}\n")
    with recording(tmp_path / "warcs", site) as proxy:
        live = ("render", "--live", "--proxy", proxy, "--urls", listed, "--out", out)
        report = run_nwx(tmp_path / "none", *live, "--browser", find_browser(), "--json").json
    assert (report["written"], report["problems"], report["leaks"]) == (1, {}, 0)
    resources = json.loads(records(out)[f"urn:pageinfo:{home}"])["urls"]
    urls = {url for url, each in resources.items() if 0 < each["status"] < 400}
    assert home in urls and len(urls) > 3
    run_nwx(tmp_path / "archive", "import", *(tmp_path / "warcs").glob("*.warc.gz"))
    dumped = run_nwx(tmp_path / "archive", "dump", "captures").json_lines
    held = {each["url"] for each in dumped}
    assert urls <= held, "what the browser had is archived"
    assert f"urn:view:{home}" in held


def test_live_pages_reach_no_other_address_of_this_machine(tmp_path: Path) -> None:
    listed, out = tmp_path / "urls.txt", tmp_path / "renders.warc.gz"
    (tmp_path / "warcs").mkdir()
    with running_hostile_site() as site, warcprox(tmp_path / "warcs") as proxy:
        listed.write_text(f"{site}/local-addresses\n")
        live = ("render", "--live", "--proxy", proxy, "--urls", listed, "--out", out)
        report = run_nwx(tmp_path / "none", *live, "--browser", find_browser(), "--json").json
        # A captured page may have any URL: addresses of this machine are still not visited.
        held = write_warc(tmp_path / "a.warc.gz", [Page(f"{site}/", "20150101000000", b"a page")])
        run_nwx(tmp_path / "archive", "import", held)
        found = ("render", "--live", "--proxy", proxy, "--out", tmp_path / "found.warc.gz")
        crawled = run_nwx(tmp_path / "archive", *found, "--browser", find_browser(), "--json").json
    assert report["refused"]["connections"] > 3
    assert crawled["refused"]["connections"]
    assert crawled["resources"] == crawled["resources_failed"]
    assert b"9200" not in b"".join(path.read_bytes() for path in tmp_path.glob("warcs/*"))


@pytest.mark.parametrize(
    "options, message",
    [
        (("--live",), "--live needs --proxy"),
        (("--proxy", "http://127.0.0.1:1"), "--proxy and --local need --live"),
        (("word", "--urls", "x"), "--urls cannot be combined"),
        (("--live", "--proxy", "127.0.0.1:1", "--urls", "FILE"), "the proxy is '127.0.0.1:1'"),
        (("--browser", "/no/such/browser"), "there is no browser at /no/such/browser"),
        (("--playback", "https://a.example/", "--urls", "FILE"), "playback is at"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("http://a.example/\n")
    given = [str(listed) if each == "FILE" else each for each in options]
    render = ("render", *given, "--out", tmp_path / "renders.warc.gz")
    assert message in run_nwx(tmp_path / "archive", *render, code=2, NWX_BROWSER=find_browser()).err


def test_all_ends_with_a_command_that_is_killed(archive: Path, tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("".join(f"{TIMESTAMP} {FRAMED}{number}\n" for number in range(1000)))
    command = [COMMAND, "render", "--urls", str(listed), "--out", str(tmp_path / "renders.warc.gz")]
    with subprocess.Popen(
        [*command, "--browser", find_browser()],
        env=environment(archive, **PLAYER),
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        assert b"sandbox" in process.stderr.readline() or process.poll() is None
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert len(below) > 2
    _, alive = psutil.wait_procs(below, timeout=60)
    assert alive == []
