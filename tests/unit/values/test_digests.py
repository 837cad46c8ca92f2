"""Digests and their spellings."""

import pytest

from nwx.errors import DigestError
from nwx.values.digests import DigestForm, digest_of, is_payload, normal_digest, spell

SHA1 = "sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"
HEX = "3a4ddcd8db6420a3a1bcd86e9c6cb4b3ff69d39b"
SHA256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHA1, SHA1),
        ("HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43", SHA1),
        ("sha1:hjg5zwg3mqqkhin43bxjy3fuwp7wtu43", SHA1),
        (f"sha1:{HEX}", SHA1),
        (f"SHA-1:{HEX.upper()}", SHA1),
        (HEX, SHA1),
        (f"urn:sha1:{SHA1[5:]}", SHA1),
        ("sha1:Ok3c2NtkIKOhvNhunGy0s/9p05s=", SHA1),
        ("sha1:Ok3c2NtkIKOhvNhunGy0s_9p05s", SHA1),
        (f" {SHA1} ", SHA1),
        (f":{SHA1[5:]}", SHA1),
        (SHA256, SHA256),
        (SHA256.replace("sha256", "sha-256").upper(), SHA256),
        (SHA256[7:], SHA256),
        ("sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====", SHA256),
        ("md5:D41D8CD98F00B204E9800998ECF8427E", "md5:d41d8cd98f00b204e9800998ecf8427e"),
        ("d41d8cd98f00b204e9800998ecf8427e", "md5:d41d8cd98f00b204e9800998ecf8427e"),
    ],
)
def test_all_spellings_have_one_normal_form(text: str, expected: str) -> None:
    assert normal_digest(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "sha1:", "monkeypowah!", "sha1:HJG5", f"sha1:{SHA1[5:-1]}1", "crc32:00000000",
        f"sha256:{HEX}", "sha1:" + "é" * 32, f"sha1:{HEX}00", ":", "sha1:-",
    ],
)  # fmt: skip
def test_what_is_no_digest_is_an_error(text: str) -> None:
    with pytest.raises(DigestError):
        normal_digest(text)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (DigestForm.NORMAL, SHA1),
        (DigestForm.BARE, SHA1[5:]),
        (DigestForm.BASE32, SHA1),
        (DigestForm.BARE_BASE32, SHA1[5:]),
        (DigestForm.HEX, f"sha1:{HEX}"),
        (DigestForm.BARE_HEX, HEX),
    ],
)
def test_a_digest_is_spelled_as_asked(form: DigestForm, expected: str) -> None:
    assert spell(SHA1, form) == expected


def test_every_spelling_reads_back_as_the_same_digest() -> None:
    for digest in (SHA1, SHA256):
        for form in (DigestForm.NORMAL, DigestForm.BASE32, DigestForm.HEX):
            assert normal_digest(spell(digest, form)) == digest


def test_bytes_of_a_digest_become_its_normal_form() -> None:
    assert digest_of("sha1", bytes.fromhex(HEX)) == SHA1
    assert digest_of("sha256", bytes.fromhex(SHA256[7:])) == SHA256


def test_digests_of_no_bytes() -> None:
    assert not is_payload("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    assert not is_payload("md5:d41d8cd98f00b204e9800998ecf8427e")
    assert is_payload("sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43") and is_payload("")
