"""What a takedown is about, from what somebody names: a URL, a digest or an archive file."""

from dataclasses import replace

from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.access.scope_texts import scope_of
from nwx.engine.base import Engine
from nwx.errors import UsageError


def takedown_scope(engine: Engine, target: str) -> Scope:
    """Return the captures that a text names: a file of the archive, else what `scope_of` reads.

    Raises UsageError where it is neither, or the whole archive.
    """
    text = target.strip()
    is_file = "://" not in text and "*" not in text and _is_file(engine, text)
    scope = Scope(url=text, source_file=text) if is_file else scope_of(text)
    if scope.is_everything:
        raise UsageError("all captures cannot be taken down at once; name a URL, digest or file")
    return scope


def _is_file(engine: Engine, name: str) -> bool:
    return any(name in (file.name, file.name.partition("#")[0]) for file in engine.files())


def takedown_rule(
    engine: Engine, scope: Scope, reason: str, *, purged: bool, by: str = ""
) -> AccessRule:
    """Exclude the captures of a scope from now on, and return the rule as it is stored.

    With `purged` imports leave them out too. A rule of the same scope that
    is there is changed; one that purges stays so, and keeps its reason where
    no other is given.
    """
    access = engine.access_index()
    wanted = checked_rule(AccessRule("", Action.EXCLUDE, scope, reason=reason, purged=purged))
    for known in access.rules().rules:
        if known.id == wanted.id:
            wanted = replace(wanted, reason=reason or known.reason)
    return access.put([wanted], by)[0]
