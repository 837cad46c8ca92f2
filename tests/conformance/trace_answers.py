"""Subjects of requests, answers of routes and commands, and parts of these that may differ."""

import gzip
import json
import re
import shutil
import time
from collections.abc import Iterator, Sequence
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
from nwx.engine.indices.picture_index import Picture
from nwx.keys import capture_id
from nwx.model import Capture
from tests.conformance.planted import HOME, Archive
from webapp.search.captures import record_id

_VARYING = (
    # The rules differ, and their version is in the answer.
    (r'"rules": "[^"]*"', '"rules": ""'),
    (r'"took_ms": ?[\d.]+', '"took_ms": 0'),
    (r"[\d.,]+ ?ms\b", "0 ms"),
    (r"[\d.,]+ s\b", "0 s"),
    (r"\.wacz \([\d.]+ kB\)", ".wacz"),
    # Term weights depend on all texts of an archive, which reveals no single document.
    (r'"(score|text)": ?[\d.e-]+', '"score": 0'),
    (r"\b(score|text) [\d.]+", "score 0"),
    (r"urn:uuid:[0-9a-f-]{36}", "urn:uuid"),
    (r"\b20(2[4-9]|3\d)-\d\d-\d\d[T ][\d:.]+\S*", "today"),
    (r"\b20(2[4-9]|3\d)[01]\d[0-3]\d\d{6}\b", "today"),
    (r"\w{3}, \d\d \w{3} 20(2[4-9]|3\d) [\d:]{8} GMT", "today"),
    # The first record of a file has such a date in its block.
    (r"(WARC-Type: warcinfo\r?\n(?:[\w-]+: .*\n)*?WARC-Block-Digest: )\S+", r"\1sha1:today"),
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
    """The subject of requests, with all its identifiers; `action` is that of its rule."""

    capture: Capture
    action: Action = Action.ALLOW
    picture: Picture | None = None

    def names(self, home: Capture, out: str = "") -> dict[str, str]:
        """Return the values of the placeholders in braces."""
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
    """An answer without the parts that differ between any two archives."""

    status: int
    text: str
    headers: tuple[str, ...] = ()


def normal(text: str) -> str:
    """Return a text without the parts that differ between any two archives."""
    for pattern, instead in _VARYING:
        text = re.sub(pattern, instead, text)
    return "\n".join(map(_in_order, text.split("\n")))


def _in_order(line: str) -> str:
    """Return a line with JSON fields sorted: servers keep the order of the last change."""
    if not line.startswith("{"):
        return line
    try:
        return json.dumps(json.loads(line), sort_keys=True)
    except ValueError:
        return line


def difference(hidden: Answer, never: Answer) -> str:
    """Return the first lines in which two answers differ."""
    pieces = [re.split(r"(?<=[\n>,])", one.text) for one in (hidden, never)]
    lines = [line for line in ndiff(*pieces) if line[0] in "+-"]
    return "".join(f"\n{line.strip()[:200]}" for line in lines[:_MOST_LINES])


def asked(client: FlaskClient, address: str) -> Answer:
    """Return the answer to a request, repeated until background work is done."""
    for _ in range(1_000):
        with client.get(address) as found:
            headers = tuple(f"{name}: {found.headers.get(name, '')}" for name in _KEPT_HEADERS)
            text = found.get_data().decode("latin-1")
        if "data-under-way" not in text:
            break
        time.sleep(0.05)
    return Answer(found.status_code, normal(text), headers)


def printed(archive: Archive, arguments: Sequence[str], out: Path) -> Answer:
    """Return the output of a command, and the files that it wrote to an empty folder."""
    with chdir(out):
        code, text = archive.nwx(*arguments)
    texts = [text.replace(str(out), "out"), *map(_written, sorted(out.rglob("*")))]
    shutil.rmtree(out)
    return Answer(code, normal("\n".join(texts)))


def _written(path: Path) -> str:
    """Return the name and content of a file."""
    if path.is_dir():
        return path.name
    if path.suffix == ".wacz":
        with ZipFile(path) as file:
            packed = {name: file.read(name) for name in sorted(file.namelist())}
        content = b"".join(
            name.encode() + (gzip.decompress(one) if name.endswith(".gz") else one)
            for name, one in packed.items()
        )
        # The first record has a unique id, whose compressed size varies.
        content = re.sub(rb'sha256:[0-9a-f]{64}|"(offset|length)": "?\d+"?', b"", content)
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
    """Yield the names of all commands, prefixed by those of their groups."""
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from command_names(found, (*path, name))


def is_about_one(template: str) -> bool:
    """Return whether a request has a placeholder for its subject."""
    return bool(re.search(r"(?<!\{)\{(?!out\}|\{)\w+\}", template))


def home_of(captures: Sequence[Capture]) -> Capture:
    """Return the first capture of the visible page."""
    return min((one for one in captures if one.url == HOME), key=lambda one: one.timestamp)
