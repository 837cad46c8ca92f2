"""Duplicates in real CDX files, compared with lists made with sort and awk.

The lists are in `dedup/` of the shared golden data: second and later captures by urlkey and digest,
or by digest alone, with normalized digests.
"""

import io
from collections import Counter
from pathlib import Path

import pytest

from nwx.captures import names_capture
from nwx.cdx.inputs import CdxSource
from nwx.cdx.layouts import Layout
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.duplicates import find_duplicates, find_revisits
from nwx.dedup.policies import Key
from nwx.errors import DigestError
from nwx.values.digests import normal_digest

# url ip date mime length file offset md5, in NetarchiveSuite's order
LAYOUTS = {"fyensdk.cdx": Layout("aebmSgVk")}
# `:2WAX…` is read as a digest without algorithm name; awk treated it as a different one
DIFFERENT = ("invalid-warcfile-digest-fields.warc.cdx",)
# pywb's ZipNum sample has members without a final newline: read as one file, as for the
# lists, the lines on both sides of 37 borders are lost
MIME_COLUMNS = 4
GLUED = "zipnum-sample.cdx.gz"

Found = Counter[tuple[str, str]]


def _sources(shared_data: Path) -> dict[str, Path]:
    golden = shared_data / "golden"
    found = {
        f"{folder}/{path.name}": path
        for folder in ("cdx", "cdxj")
        for path in sorted((shared_data / folder).iterdir())
    }
    found["zipnum/cc/cdx-00187.gz"] = shared_data / "zipnum" / "cc" / "cdx-00187.gz"
    for path in sorted((golden / "pywb-cdx11").rglob("*.cdx")):
        found[str(path.relative_to(golden).with_suffix(""))] = path
    for path in sorted((golden / "pywb-cdx11-repaired").rglob("*.cdx")):
        name = path.relative_to(golden / "pywb-cdx11-repaired").with_suffix("")
        found[f"pywb-cdx11/{name}"] = path
    for path in sorted((golden / "collection").iterdir()):
        found[f"collection/{path.stem}"] = path
    return found


def _listed(text: str) -> Found:
    return Counter(
        (date, _normal(digest))
        for date, digest, _ in (line.split(" ", 2) for line in text.splitlines())
    )


def _normal(digest: str) -> str:
    try:
        return normal_digest(digest)
    except DigestError:
        return digest


def _expected(path: Path) -> Found | None:
    if not path.exists():
        return None
    rows = [line.split("\t") for line in path.read_text("utf-8", "surrogateescape").splitlines()]
    return Counter((row[1], _normal(row[2])) for row in rows if row[2] != "-" and _is_capture(row))


def _is_capture(row: list[str]) -> bool:
    """Return whether a row is a capture, as the lists cover all lines."""
    if row[0].startswith(("metadata)/gnu.org/software/wget", "org,gnu)/software/wget/warc/")):
        return False
    return len(row) < MIME_COLUMNS or names_capture(row[3], "-", "")


def _golden(shared_data: Path, name: str, kind: str) -> Found | None:
    folder = shared_data / "golden" / "dedup"
    found = [folder / f"{name}{end}.norm.{kind}.tsv" for end in ("", ".cdx", ".flat")]
    return next((rows for path in found if (rows := _expected(path)) is not None), None)


@pytest.mark.parametrize(
    ("key", "kind"),
    [(Key.URLKEY_DIGEST, "dups-urlkey-digest"), (Key.DIGEST, "dups-digest")],
)
def test_duplicates_are_those_of_sort_and_awk(shared_data: Path, key: Key, kind: str) -> None:
    compared = 0
    for name, path in _sources(shared_data).items():
        expected = _golden(shared_data, name, kind)
        if expected is None or path.name in DIFFERENT:
            continue
        output = io.BytesIO()
        source = CdxSource(str(path), LAYOUTS.get(path.name))
        report = find_duplicates([source], output, CaptureFilter(key=key))
        found = _listed(output.getvalue().decode("utf-8", "surrogateescape"))
        # awk also lists lines equal to the line of the kept capture
        assert not found - expected, name
        assert (expected - found).total() == report.spared <= 1, name
        compared += sum(expected.values())
    assert compared > 400


def test_revisits_are_those_of_awk(shared_data: Path) -> None:
    compared = 0
    for name, path in _sources(shared_data).items():
        expected = _golden(shared_data, name, "revisits")
        if expected is None:
            continue
        output = io.BytesIO()
        find_revisits([CdxSource(str(path), LAYOUTS.get(path.name))], output)
        assert _listed(output.getvalue().decode("utf-8", "surrogateescape")) == expected, name
        compared += sum(expected.values())
    assert compared > 400


def test_lines_at_the_borders_of_zipnum_members_are_read(shared_data: Path) -> None:
    source = CdxSource(str(shared_data / "zipnum" / "pywb" / GLUED))
    report = find_duplicates([source], io.BytesIO(), CaptureFilter())
    assert report.lines == 188
    assert report.problems_total == 0
