"""Access rules in the Python API, and takedowns."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from nwx.archive_work import ArchiveWork
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.access.rules import Viewer

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.access.rule_requests import RuleFileReport, UrlDecisions
    from nwx.engine.access.access_index import AccessChange
    from nwx.engine.access.rules import AccessRule
    from nwx.takedown.purge import Takedown


class ArchiveRules(ArchiveWork):
    """The access rules of an archive; `by` is the user noted in their log."""

    def rules(self) -> "Sequence[AccessRule]":
        """Return the access rules."""
        return self._whole().access_index().rules().rules

    def add_rule(self, action: str, what: str = "", *, by: str = "", **given: Any) -> "AccessRule":
        """Store an access rule: allow, block, exclude, embargo or local; return it as stored.

        `what` is a URL, prefix, host, domain, digest or file as for `nwx access add`. `given` are
        collection, digest, file, from_, to, until, years, users, addresses and reason.
        """
        from nwx.access.rule_requests import asked_rule
        from nwx.engine.indices.digest_index import held_digest

        with self._writable() as engine:
            rule = asked_rule(action, what, **given)
            if digest := rule.scope.digest:
                scope = replace(rule.scope, digest=held_digest(engine, digest))
                rule = replace(rule, scope=scope)
            return engine.access_index().put([rule], by)[0]

    def load_rules(
        self,
        stream: BinaryIO,
        reason: str = "",
        action: str | None = None,
        by: str = "",
        collection: str = "",
    ) -> "RuleFileReport":
        """Store the rules in a file of pywb (.aclj), of nwx, or of URLs with an action.

        With `collection`, each holds for that collection only.
        """
        from nwx.access.rule_requests import load_rules

        with self._writable() as engine:
            return load_rules(engine, stream, reason, action, by, collection)

    def remove_rules(self, ids: Iterable[str], by: str = "") -> tuple[int, list[str]]:
        """Remove access rules; return how many, and which kept purged captures out of imports."""
        from nwx.access.rule_requests import removed_rules

        with self._writable() as engine:
            return removed_rules(engine, ids, by)

    def rule_changes(self, limit: int = 50, offset: int = 0) -> "Sequence[AccessChange]":
        """Return who changed which access rules, the last change first."""
        return self._whole().access_index().changes(limit, offset)

    def has_rules(self) -> bool:
        """Return whether there are access rules."""
        return bool(self._whole().access_index().rules().rules)

    def decide(
        self,
        url: str,
        *,
        user: str = "",
        address: str = "",
        date: str = "",
        collection: str = "",
        digest: str = "",
        file: str = "",
    ) -> "UrlDecisions":
        """Return which access rule decides about a capture of a URL, whether it exists or not.

        For those who see all, existing captures of the URL are listed too.
        """
        from nwx.access.rule_requests import url_decisions

        return url_decisions(
            self._whole(),
            url,
            Viewer(address, user),
            date,
            with_captures=self.viewer.sees_all,
            collection=collection,
            digest=digest,
            file=file,
        )

    def takedown(
        self,
        target: str,
        *,
        collection: str = "",
        from_: str = "",
        to: str = "",
        reason: str = "",
        purge: bool = False,
        by: str = "",
        progress: ShowProgress = no_progress,
    ) -> "Takedown":
        """Exclude captures from now on; with `purge`, also remove them from all indices for good.

        `target` is a URL, prefix, host, domain, digest or archive file.
        """
        from nwx.takedown.purge import take_down
        from nwx.takedown.targets import asked_takedown

        with self._writable() as engine:
            scope = asked_takedown(engine, target, collection, from_, to)
            return take_down(
                engine, self.settings, scope, reason, by=by, purge=purge, progress=progress
            )
