"""Hashes of keys are equal exactly for equal keys."""

from pathlib import Path

import pytest

from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.dedup.key_hashes import KeyHash, canonical_digest
from nwx.dedup.policies import Key
from nwx.values.digests import DigestForm, digest_of, spell

SHA1 = digest_of("sha1", bytes(range(20)))
SHA256 = digest_of("sha256", bytes(range(32)))


def _columns(tmp_path: Path, lines: list[str], header: str = "") -> CdxColumns:
    path = tmp_path / "lines.cdx"
    path.write_text(header + "".join(line + "\n" for line in lines))
    reading = FileReading(str(path))
    (block,) = blocks(FilePiece(CdxSource(str(path))), reading)
    return CdxColumns(block, reading)


def _line(url: str, digest: str, urlkey: str = "k") -> str:
    return f"{urlkey} 20240101000000 {url} text/html 200 {digest} - 1 f"


def _keys(tmp_path: Path, lines: list[str], key: Key = Key.URL_DIGEST) -> list[tuple[int, int]]:
    first, second = KeyHash(key, 1).of_key(_columns(tmp_path, lines))
    return list(zip(first.tolist(), second.tolist(), strict=True))


@pytest.mark.parametrize("normal", [SHA1, SHA256])
def test_all_spellings_of_a_digest_have_one_key(tmp_path: Path, normal: str) -> None:
    spellings = {spell(normal, form) for form in DigestForm}
    if normal == SHA256:
        spellings -= {spell(normal, DigestForm.BARE_BASE32)}  # its algorithm is ambiguous
    lines = [_line("http://a/", digest) for digest in sorted(spellings)]
    assert len(lines) >= 3
    assert len(set(_keys(tmp_path, lines))) == 1


def test_other_digests_and_urls_have_other_keys(tmp_path: Path) -> None:
    lengths = [0, 1, 2, 30, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 513, 1023, 1024, 1025, 5000]
    urls = [f"http://a/{'x' * length}{end}" for length in lengths for end in "yz"]
    digests = [SHA1, SHA256, "unknown:1", "unknown:2", "x", "d41d8cd98f00b204e9800998ecf8427e"]
    lines = [_line(url, digest) for url in urls for digest in digests]
    assert len(set(_keys(tmp_path, lines))) == len(lines)
    assert _keys(tmp_path, lines) == _keys(tmp_path, lines)
    assert len(set(_keys(tmp_path, lines, Key.DIGEST))) == len(digests)


def test_a_missing_urlkey_is_computed(tmp_path: Path) -> None:
    lines = [
        _line("http://www.example.org/A", SHA1, "org,example)/a"),
        _line("https://example.org/a", SHA1, "-"),
    ]
    assert len(set(_keys(tmp_path, lines, Key.URLKEY_DIGEST))) == 1
    without = ["2024 http://www.example.org/A " + SHA1, "2024 https://example.org/a " + SHA1]
    columns = _columns(tmp_path, without, " CDX b a k\n")
    first, _ = KeyHash(Key.URLKEY_DIGEST, 1).of_key(columns)
    assert first[0] == first[1] == _keys(tmp_path, lines, Key.URLKEY_DIGEST)[0][0]


def test_seeds_give_other_numbers(tmp_path: Path) -> None:
    columns = _columns(tmp_path, [_line("http://a/", SHA1)])
    first, second = (KeyHash(Key.URL_DIGEST, seed).of_key(columns)[0] for seed in (1, 2))
    assert first != second


def test_what_is_no_digest_stands_for_itself() -> None:
    assert canonical_digest(b"\xff\xfe") != canonical_digest(b"\xff\xfd")
