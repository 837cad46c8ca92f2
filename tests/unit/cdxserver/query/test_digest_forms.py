"""Digests in the spelling that a client wants."""

import pytest

from nwx.cdxserver.query.digest_forms import normal_or_same, spelled
from nwx.values.digests import DigestForm

BASE32 = "HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"
HEX = "3a4ddcd8db6420a3a1bcd86e9c6cb4b3ff69d39b"


@pytest.mark.parametrize("digest", [BASE32, f"sha1:{BASE32}", HEX, f"sha1:{HEX}"])
def test_one_value_in_any_spelling(digest: str) -> None:
    assert spelled(digest, DigestForm.BARE_BASE32) == BASE32
    assert spelled(digest, DigestForm.BARE_HEX) == HEX
    assert spelled(digest, DigestForm.NORMAL) == f"sha1:{BASE32}"
    assert normal_or_same(digest) == f"sha1:{BASE32}"


def test_what_is_no_digest_stays_as_it_is() -> None:
    assert spelled("nonsense", DigestForm.NORMAL) == "nonsense"
    assert spelled("x:nonsense", DigestForm.BARE_HEX) == "nonsense"
    assert normal_or_same("-") == "-"
