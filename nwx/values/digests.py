"""Digests in many spellings, and their normal form.

The normal form is `sha1:` with 32 upper-case base32 characters, and any other algorithm with
lower-case hex digits: the most frequent spelling of each.
"""

import base64
import binascii
import hashlib
import re
from enum import StrEnum

from nwx.errors import DigestError

_NORMAL_SHA1 = re.compile(r"sha1:[A-Z2-7]{32}")
_BARE_SHA1 = re.compile(r"[A-Z2-7]{32}")
_BASE32 = re.compile(r"[A-Za-z2-7]+=*")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_BASE64 = re.compile(r"[0-9A-Za-z+/_-]+=*")
_SIZES = {"md5": 16, "sha1": 20, "sha224": 28, "sha256": 32, "sha384": 48, "sha512": 64}
_BARE = {32: "sha1", 40: "sha1", 64: "sha256"}

FURTHER_ALGORITHMS = ("sha1", "sha256")
"""The algorithms of the digests that payloads get if additional digests are kept."""


class DigestForm(StrEnum):
    """The spellings of a digest; bare ones are without the name of the algorithm."""

    NORMAL = "normal"
    BASE32 = "base32"
    HEX = "hex"
    BARE = "bare"
    BARE_BASE32 = "bare-base32"
    BARE_HEX = "bare-hex"


def normal_digest(text: str) -> str:
    """Return the normal form of a digest in any spelling.

    Accepts `sha1:`, `SHA-256:`, `urn:sha1:` and similar prefixes before base32, hex or base64; bare
    values of 32 or 40 characters are SHA-1 (32 hex digits that are not base32: MD5), of 64 SHA-256.
    Raises DigestError on anything else.
    """
    if _NORMAL_SHA1.fullmatch(text):
        return text
    if _BARE_SHA1.fullmatch(text):
        return f"sha1:{text}"
    algorithm, value = _split(text.strip())
    return _spelled(algorithm, _bytes(algorithm, value, text))


def digest_of(algorithm: str, value: bytes) -> str:
    """Return the normal form of a digest given as bytes."""
    return _spelled(algorithm, value)


def is_payload(digest: str) -> bool:
    """Return whether a digest in normal form is not that of an empty payload."""
    return digest not in _OF_NO_BYTES


def spell(digest: str, form: DigestForm) -> str:
    """Return a digest, given in normal form, in another spelling."""
    algorithm, _, value = digest.partition(":")
    match form:
        case DigestForm.NORMAL:
            return digest
        case DigestForm.BARE:
            return value
    raw = _bytes(algorithm, value, digest)
    if form in (DigestForm.HEX, DigestForm.BARE_HEX):
        spelled = raw.hex()
    else:
        spelled = base64.b32encode(raw).decode().rstrip("=")
    return (
        spelled
        if form in (DigestForm.BARE_HEX, DigestForm.BARE_BASE32)
        else f"{algorithm}:{spelled}"
    )


def _split(text: str) -> tuple[str, str]:
    name, _, value = text.removeprefix("urn:").rpartition(":")
    if name:
        return name.lower().replace("-", ""), value
    algorithm = _BARE.get(len(value), "")
    if len(value) == 32 and not _BASE32.fullmatch(value):
        algorithm = "md5"
    return algorithm, value


def _bytes(algorithm: str, value: str, text: str) -> bytes:
    size = _SIZES.get(algorithm)
    if size is None:
        raise DigestError.translated(
            "%(text)s is not a known kind of digest; expected %(choices)s",
            text=repr(text[:80]),
            choices=", ".join(_SIZES),
        )
    try:
        raw = _decoded(value, size)
    except (binascii.Error, ValueError) as error:
        raise DigestError.translated(
            "%(text)s is not a %(algorithm)s digest: %(reason)s",
            text=repr(text[:80]),
            algorithm=algorithm,
            reason=error,
        ) from error
    if len(raw) != size:
        raise DigestError.translated(
            "%(text)s is not a %(algorithm)s digest: expected %(size)s bytes",
            text=repr(text[:80]),
            algorithm=algorithm,
            size=size,
        )
    return raw


def _decoded(value: str, size: int) -> bytes:
    if len(value) == 2 * size and _HEX.fullmatch(value):
        return bytes.fromhex(value)
    bare = value.rstrip("=")
    if len(bare) == -(-size * 8 // 5) and _BASE32.fullmatch(value):
        return base64.b32decode(bare.upper() + "=" * (-len(bare) % 8))
    if len(bare) == -(-size * 8 // 6) and _BASE64.fullmatch(value):
        return base64.urlsafe_b64decode(
            bare.replace("+", "-").replace("/", "_") + "=" * (-len(bare) % 4)
        )
    return b""


def _spelled(algorithm: str, raw: bytes) -> str:
    if algorithm == "sha1":
        return "sha1:" + base64.b32encode(raw).decode()
    return f"{algorithm}:{raw.hex()}"


_OF_NO_BYTES = frozenset(
    _spelled(name, hashlib.new(name, usedforsecurity=False).digest()) for name in _SIZES
)
