"""Payloads that lie in other files, and files that must not be read."""

import os
from pathlib import Path

import pytest

from nwx.model import ReadError
from nwx.warc.external_bodies import ExternalBodies
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource
from tests.warc_records import http_response, warc_bytes, write_records
from tests.warcs import Page

PAGE = b"<title>Elsewhere</title><p>the text of another file"
HEADER = b"Content-Type: text/html\r\nContent-ID: <x>\r\n\r\nthis is not the body"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    allowed = tmp_path / "payloads"
    (allowed / "below").mkdir(parents=True)
    (allowed / "page.html").write_bytes(PAGE)
    (allowed / "below" / "page two.html").write_bytes(PAGE + b" two")
    (tmp_path / "secret.html").write_bytes(b"secret")
    return allowed


def read(
    folders: list[Path],
    content_type: str,
    block: bytes = HEADER,
    kind: str = "resource",
    **more: str,
) -> tuple[CaptureRecord, list[ReadError]]:
    path = folders[0].parent / "a.warc.gz" if folders else Path(os.devnull)
    record = warc_bytes(kind, block, id="1", content_type=content_type, **more)
    write_records(path, [record])
    source = ArchiveSource(path.name, str(path), None)
    external = ExternalBodies([str(folder) for folder in folders])
    found = list(ArchiveReader(source, "test", external=external, verify=True))
    [capture] = [item for item in found if isinstance(item, CaptureRecord)]
    return capture, [item for item in found if isinstance(item, ReadError)]


@pytest.mark.parametrize(
    "parameters",
    [
        'access-type=local-file; name="page.html"',
        "ACCESS-TYPE=LOCAL-FILE; NAME=./page.html",
        'access-type=local-file; name="{folder}/page.html"; site="thumper.example"',
        'access-type=local-file; name="file:{folder}/page.html"',
        'access-type=URL; URL="file://{folder}/page.html"',
        'access-type=URL; URL*0="file://localhost{folder}/pa"; URL*1="ge.html"',
        "access-type=local-file; name*=us-ascii''%70age.html",
        'access-type=x-warc-file; path="page.html"',
        'access-type=local-file; name="link.html"',
    ],
)
def test_a_payload_is_read_from_the_folder(folder: Path, parameters: str) -> None:
    (folder / "link.html").symlink_to("page.html")
    declared = f"message/external-body; {parameters.format(folder=folder)}"
    found, errors = read([folder], declared)
    assert errors == []
    assert found.payload().data == PAGE
    capture = found.capture
    assert (capture.content_type, capture.content_type_norm) == ("text/html", "html")
    assert capture.digest == Page("", "", PAGE).digest
    assert capture.content_length == len(PAGE)


def test_names_with_blanks_and_folders_below_are_read(folder: Path) -> None:
    declared = 'message/external-body; access-type=URL; url="file:below/page%20two.html"'
    found, errors = read([folder.parent / "none", folder], declared)
    assert (errors, found.payload().data) == ([], PAGE + b" two")


def test_a_response_may_lie_elsewhere_with_its_head(folder: Path) -> None:
    (folder / "answer").write_bytes(http_response(PAGE))
    header = b"Content-Type: application/http; msgtype=response\r\n\r\n"
    declared = "message/external-body; access-type=local-file; name=answer"
    found, errors = read([folder], declared, header, "response")
    assert errors == []
    assert found.payload().data == PAGE
    assert (found.capture.status_code, found.capture.content_type) == (200, "text/html")


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ('access-type=local-file; name="/etc/passwd"', "'/etc/passwd' is no file in the folders"),
        ('access-type=URL; URL="file:///etc/passwd"', "'/etc/passwd' is no file in the folders"),
        ('access-type=local-file; name="../secret.html"', "has a part '..'"),
        ('access-type=local-file; name="below/../page.html"', "has a part '..'"),
        ('access-type=URL; URL="file:%2e%2e/secret.html"', "has a part '..'"),
        ('access-type=local-file; name="out.html"', "is no file in the folders"),
        ('access-type=local-file; name="outside/secret.html"', "is no file in the folders"),
        ('access-type=local-file; name="missing.html"', "is no file in the folders"),
        ('access-type=local-file; name="below"', "is no regular file"),
        ('access-type=local-file; name="pipe"', "is no regular file"),
        ('access-type=local-file; name="."', "is no file in the folders"),
        ("access-type=local-file", "names no file"),
        ('access-type=URL; URL="http://a.example/page"', "nothing is fetched"),
        ('access-type=URL; URL="file://other.example/page.html"', "nothing is fetched"),
        ('access-type=anon-ftp; name="page.html"; site="a.example"', "none of a local file"),
        ('name="page.html"', "none of a local file"),
        ("access-type=local-file; name*=us-ascii''page%00.html", "none that a file can have"),
        ("access-type=local-file; name*=utf-7''+2AA-", "none that a file can have"),
        ("access-type=local-file; name*=undefined''page.html", "parameter 'name' cannot be read"),
        (f"access-type=local-file; name*{'1' * 5_000}=x", "cannot be read"),
    ],
)
def test_everything_else_is_refused_with_a_reason(
    folder: Path, parameters: str, reason: str
) -> None:
    (folder / "out.html").symlink_to(folder.parent / "secret.html")
    (folder / "outside").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    found, [error] = read([folder], f"message/external-body; {parameters}")
    assert (error.kind, error.file, error.offset) == ("external", "a.warc.gz", 0)
    assert reason in error.message
    assert found.capture.content_type == "message/external-body"


def test_nothing_is_read_unless_a_folder_is_named(folder: Path) -> None:
    declared = f"message/external-body; access-type=local-file; name={folder}/page.html"
    record = warc_bytes("resource", HEADER, id="1", content_type=declared)
    path = write_records(folder.parent / "a.warc.gz", [record])
    source = ArchiveSource(path.name, str(path), None)
    error, found = ArchiveReader(source, "test", external=ExternalBodies(()))
    assert isinstance(error, ReadError)
    assert "name its folder with --external" in error.message
    assert isinstance(found, CaptureRecord)


def test_digests_and_codings_of_payloads_are_looked_at(folder: Path) -> None:
    declared = "message/external-body; access-type=local-file; name=page.html"
    _, [error] = read([folder], declared, **{"WARC-Payload-Digest": Page("", "").digest})
    assert (error.kind, "payload digest" in error.message) == ("digest", True)
    _, [error] = read([folder], declared, b"Content-Transfer-Encoding: base64\r\n\r\n")
    assert "transfer encoding 'base64'" in error.message


def test_a_long_payload_is_hashed_whole_and_kept_in_part(folder: Path) -> None:
    body = b"x" * (20 << 20)
    (folder / "page.html").write_bytes(body)
    declared = "message/external-body; access-type=local-file; name=page.html"
    found, errors = read([folder], declared)
    assert errors == []
    assert found.capture.digest == Page("", "", body).digest
    assert found.capture.content_length == len(body)
    assert found.payload().truncated
