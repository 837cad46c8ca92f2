"""What a takedown is about, from what somebody names: a URL, a digest or an archive file."""

import getpass
from contextlib import suppress
from dataclasses import replace

from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.base import Engine
from nwx.errors import DigestError, FormatError, UsageError
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import urlkey

_ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz", ".wacz")
_ANY = "*"
_DOMAIN = "*."


def takedown_scope(engine: Engine, target: str) -> Scope:
    """Return the captures that a text names.

    A digest is one with its algorithm (`sha1:…`); a file is one that the
    archive has, or that is named like an archive file; all else is a URL. A
    `*` behind a URL is all that begin like it, `*.` before a host the host
    and all below it. Raises UsageError where it is none of these.
    """
    text = target.strip()
    if ":" in text and "/" not in text:
        with suppress(DigestError):
            return Scope(url=text, digest=normal_digest(text))
    if "://" not in text and (text.endswith(_ENDINGS) or _is_file(engine, text)):
        return Scope(url=text, source_file=text)
    try:
        return _url_scope(text)
    except FormatError as error:
        raise UsageError(
            f"{text[:200]!r} is no URL ({error}), no digest, and no file of the archive"
        ) from error


def _url_scope(text: str) -> Scope:
    if text.startswith(_DOMAIN):
        host = text.removeprefix(_DOMAIN).rstrip("/*")
        return Scope(url=text, prefix=urlkey(f"http://{host}/").partition(")")[0])
    url = text.removesuffix(_ANY)
    if "." not in url and ":" not in url:
        raise UsageError(f"{text[:200]!r} is no URL, no digest, and no file of the archive")
    if text == url:
        return Scope(url=text, prefix=urlkey(url), is_exact=True)
    key = urlkey(url)
    # The key of a URL that ends in a slash has none.
    return Scope(url=text, prefix=f"{key}/" if url.endswith("/") and key[-1] != "/" else key)


def _is_file(engine: Engine, name: str) -> bool:
    return any(name in (file.name, file.name.partition("#")[0]) for file in engine.files())


def takedown_rule(engine: Engine, scope: Scope, reason: str, *, purged: bool) -> AccessRule:
    """Exclude the captures of a scope from now on, and return the rule as it is stored.

    With `purged` imports leave them out too. A rule of the same scope that
    is there is changed; one that purges stays so, and keeps its reason where
    no other is given.
    """
    access = engine.access_index()
    wanted = checked_rule(AccessRule("", Action.EXCLUDE, scope, reason=reason, purged=purged))
    for known in access.rules().rules:
        if known.id == wanted.id:
            wanted = replace(wanted, reason=reason or known.reason, purged=purged or known.purged)
    return access.put([wanted], getpass.getuser())[0]
