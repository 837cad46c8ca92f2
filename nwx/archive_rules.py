"""Access rules, takedowns, and the rankings and judgements of results, in the Python API."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from nwx.archive_work import ArchiveWork
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.access.rules import Viewer
from nwx.model import Hit

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.access.rule_requests import RuleFileReport, UrlDecisions
    from nwx.engine.access.access_index import AccessChange
    from nwx.engine.access.rules import AccessRule
    from nwx.maintenance.purge import Takedown
    from nwx.query.rankings import Ranking
    from nwx.searching.judgements import Judgement, JudgementIndex, Qrels
    from nwx.searching.ranking_evaluation import Agreement, Evaluation, Tuning


class ArchiveRules(ArchiveWork):
    """The access rules, rankings and judgements of an archive; `by` is the user in the log."""

    def rules(self) -> "Sequence[AccessRule]":
        """Return the access rules."""
        return self._whole().access_index().rules().rules

    def add_rule(self, action: str, what: str = "", *, by: str = "", **given: Any) -> "AccessRule":
        """Store an access rule: allow, block, exclude, embargo or local; return it as stored.

        `what` is a URL, prefix, host, domain, digest or file as for `nwx access add`. `given` are
        collection, digest, file, from_, to, until, years, users, addresses and reason.
        """
        from nwx.access.rule_requests import asked_rule, held_rule

        with self._writable() as engine:
            rule = held_rule(engine, asked_rule(action, what, **given))
            return engine.access_index().put([rule], by)[0]

    def load_rules(
        self,
        stream: BinaryIO,
        reason: str = "",
        action: str | None = None,
        by: str = "",
        collection: str = "",
    ) -> "RuleFileReport":
        """Store the rules in a file: pywb's (.aclj), nwx's, or a list of URLs with an `action`.

        With `collection`, the rules apply to that collection only.
        """
        from nwx.access.rule_requests import load_rules

        with self._writable() as engine:
            return load_rules(engine, stream, reason, action, by, collection)

    def remove_rules(self, ids: Iterable[str], by: str = "") -> tuple[int, list[str]]:
        """Remove access rules; return their number, and those that kept out purged captures."""
        from nwx.access.rule_requests import removed_rules

        with self._writable() as engine:
            return removed_rules(engine, ids, by)

    def rule_changes(self, limit: int = 50, offset: int = 0) -> "Sequence[AccessChange]":
        """Return the changes of access rules with their authors, last change first."""
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
        """Return the access rule that applies to a capture of a URL, existing or not.

        For viewers who see everything, existing captures of the URL are also listed.
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
        """Exclude captures at once; with `purge`, also remove them from all indices for good.

        `target` is a URL, prefix, host, domain, digest or archive file.
        """
        from nwx.maintenance.purge import take_down
        from nwx.maintenance.takedown_targets import asked_takedown

        with self._writable(makes=not purge) as engine:
            scope = asked_takedown(engine, target, collection, from_, to)
            return take_down(
                engine, self.settings, scope, reason, by=by, purge=purge, progress=progress
            )

    def _judgements(self) -> "JudgementIndex":
        from nwx.model import IndexName
        from nwx.searching.judgements import JudgementIndex

        return JudgementIndex(self._whole().entry_store(IndexName.JUDGEMENTS))

    def rankings(self) -> "Sequence[Ranking]":
        """Return the rankings by name, `default` first."""
        return self._judgements().rankings()

    def ranking(self, name: str) -> "Ranking":
        """Return a ranking by name; raises UsageError if it does not exist."""
        from nwx.query.rankings import BUILT_IN

        return BUILT_IN.get(name) or self._judgements().ranking(name)

    def save_ranking(self, name: str, **weights: float) -> "Ranking":
        """Store weights of title, headings, text, url, anchors, inlinks, phrase and below_pages."""
        with self._writable():
            return self._judgements().save_ranking(name, weights)

    def remove_ranking(self, name: str) -> bool:
        """Remove a stored ranking; return whether it existed."""
        with self._writable():
            return self._judgements().remove_ranking(name)

    def judge(self, query: str, url: str, grade: int, judge: str = "") -> None:
        """Store how well a URL answers a query: 0 (not at all) to 3 (exactly)."""
        self.add_judgements([(query, url, grade, judge)])

    def add_judgements(self, judgements: "Iterable[tuple[str, str, int, str]]") -> int:
        """Store judgements, each a query, URL, grade and judge; return their number."""
        from nwx.searching.judgements import Judgement

        with self._writable():
            return self._judgements().add(Judgement(*one) for one in judgements)

    def judge_queries(self, queries: Iterable[str] = ()) -> list[str]:
        """Store queries to be judged; return all queries stored so far."""
        if given := list(queries):
            with self._writable():
                self._judgements().add_queries(given)
        return self._judgements().queries()

    def judgements(self) -> "list[Judgement]":
        """Return the judgements of URLs that the viewer may see."""
        found = self._judgements().judgements()
        hidden = self._seen().hidden_urls({one.url for one in found})
        return [one for one in found if one.url not in hidden]

    def to_judge(
        self, query: str, judge: str = "", rankings: Sequence[str] = (), *, again: bool = False
    ) -> list[Hit]:
        """Return the first hits of several rankings, in an order that does not reveal the ranking.

        Hits that this judge has already judged are left out unless `again`.
        """
        from nwx.searching.ranking_evaluation import pooled

        chosen = [self.ranking(one) for one in rankings or ("default", "older")]
        hits = pooled(self._first_hits, query, chosen)
        judged = {one.url for one in self.judgements() if (one.query, one.judge) == (query, judge)}
        return [hit for hit in hits if again or hit.url not in judged]

    def agreement(self) -> "list[Agreement]":
        """Return the agreement (Cohen's kappa) of each two judges on what both judged."""
        from nwx.searching.ranking_evaluation import agreements

        return agreements(self.judgements())

    def qrels(self, path: str | PathLike[str] = "") -> "Qrels":
        """Return the grades by query and urlkey, from a file or the archive's judgements."""
        from nwx.searching.judgements import qrels_of, read_judgements

        return qrels_of(read_judgements(Path(path)) if path else self.judgements())

    def evaluate(
        self,
        rankings: Sequence[str] = (),
        *,
        qrels: "Qrels | None" = None,
        runs: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    ) -> "list[Evaluation]":
        """Return nDCG@10, MRR, P@1 and recall@100 of rankings, and of runs of other programs."""
        return self.evaluation(rankings, qrels=qrels, runs=runs)[0]

    def evaluation(
        self,
        rankings: Sequence[str] = (),
        *,
        qrels: "Qrels | None" = None,
        runs: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    ) -> "tuple[list[Evaluation], Mapping[str, Mapping[str, Sequence[str]]]]":
        """Return the evaluations of `evaluate`, and the results by ranking and query."""
        from nwx.searching.ranking_evaluation import compared

        names = rankings or ("default", "older")
        chosen = [self.ranking(one) for one in names]
        grades = self.qrels() if qrels is None else qrels
        return compared(self._first_hits, grades, chosen, runs or {})

    def tune(
        self, save: str = "", *, ranking: str = "default", measure: str = "",
        qrels: "Qrels | None" = None,
    ) -> "Tuning":  # fmt: skip
        """Search for better weights; store them as `save` if they gain on held-out queries."""
        from nwx.searching.ranking_evaluation import tune

        grades = self.qrels() if qrels is None else qrels
        found = tune(self._first_hits, grades, self.ranking(ranking), measure)
        if save and found.gains:
            self.save_ranking(save, **found.ranking.weights())
        return found

    def _first_hits(self, query: str, ranking: "Ranking", limit: int) -> Sequence[Hit]:
        from nwx.answers.hits import Hits
        from nwx.query.question import Question

        snippets = limit <= 10
        question = Question(query, ranking=ranking, limit=limit, snippets=snippets)
        return Hits(self._seen, question).page().hits
