"""Digests as clients want them spelled."""

from functools import lru_cache

from nwx.errors import DigestError
from nwx.values.digests import DigestForm, normal_digest, spell


@lru_cache(maxsize=4_096)
def spelled(digest: str, form: DigestForm) -> str:
    """Return a digest in another spelling; of what is no digest only a name before it goes."""
    bare = digest.rpartition(":")[2]
    if form is DigestForm.BARE:
        return bare
    try:
        return spell(normal_digest(digest), form)
    except DigestError:
        return digest if form is DigestForm.NORMAL else bare


@lru_cache(maxsize=4_096)
def normal_or_same(digest: str) -> str:
    """Return the normal form of a digest, or what is none as it is."""
    try:
        return normal_digest(digest)
    except DigestError:
        return digest
