"""Rankings, judgements and evaluations in the Python API."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.archive_work import ArchiveWork
from nwx.model import Hit
from nwx.query.question import Question

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.evaluation.judgements import Judgement, JudgementIndex, Qrels
    from nwx.evaluation.measures import Agreement, Evaluation
    from nwx.evaluation.workbench import Tuning
    from nwx.query.ranking import Ranking


class ArchiveRankings(ArchiveWork):
    """The weights that order results, how good they are, and judgements to tell it by."""

    def _judgements(self) -> "JudgementIndex":
        from nwx.evaluation.judgements import JudgementIndex
        from nwx.model import IndexName

        return JudgementIndex(self._whole().entry_store(IndexName.JUDGEMENTS))

    def rankings(self) -> "Sequence[Ranking]":
        """Return the rankings by name, `default` first."""
        return self._judgements().rankings()

    def ranking(self, name: str) -> "Ranking":
        """Return the ranking of a name; raises UsageError if there is none."""
        from nwx.query.ranking import BUILT_IN

        return BUILT_IN.get(name) or self._judgements().ranking(name)

    def save_ranking(self, name: str, **weights: float) -> "Ranking":
        """Store a ranking: title, headings, text, url, anchors, inlinks, phrase, below_pages."""
        with self._writable():
            return self._judgements().save_ranking(name, weights)

    def remove_ranking(self, name: str) -> bool:
        """Remove a stored ranking; return whether there was one."""
        with self._writable():
            return self._judgements().remove_ranking(name)

    def judge(self, query: str, url: str, grade: int, judge: str = "") -> None:
        """Store how well a URL answers a query: 0 (not at all) to 3 (exactly)."""
        self.add_judgements([(query, url, grade, judge)])

    def add_judgements(self, judgements: "Iterable[tuple[str, str, int, str]]") -> int:
        """Store judgements: query, URL, grade and judge; return how many."""
        from nwx.evaluation.judgements import Judgement

        with self._writable():
            return self._judgements().add(Judgement(*one) for one in judgements)

    def judge_queries(self, queries: Iterable[str] = ()) -> list[str]:
        """Store queries to be judged; return all of them."""
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
        """Return the first hits of several rankings in an order that tells nothing.

        Those that this judge has judged are left out unless `again`.
        """
        from nwx.evaluation.workbench import pooled

        chosen = [self.ranking(one) for one in rankings or ("default", "older")]
        hits = pooled(self._first_hits, query, chosen)
        judged = {one.url for one in self.judgements() if (one.query, one.judge) == (query, judge)}
        return [hit for hit in hits if again or hit.url not in judged]

    def agreement(self) -> "list[Agreement]":
        """Return how far each two judges agree on what both judged (Cohen's kappa)."""
        from nwx.evaluation.measures import agreements

        return agreements(self.judgements())

    def qrels(self, path: str | PathLike[str] = "") -> "Qrels":
        """Return the grades by query and urlkey: of a file, else of the archive's judges."""
        from nwx.evaluation.judgements import qrels_of, read_judgements

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
        """Return what `evaluate` does, and the results by ranking and query."""
        from nwx.evaluation.workbench import compared

        names = rankings or ("default", "older")
        chosen = [self.ranking(one) for one in names]
        grades = self.qrels() if qrels is None else qrels
        return compared(self._first_hits, grades, chosen, runs or {})

    def tune(
        self, save: str = "", *, ranking: str = "default", measure: str = "",
        qrels: "Qrels | None" = None,
    ) -> "Tuning":  # fmt: skip
        """Try weights, and store the best as `save` if they gain on the queries held out."""
        from nwx.evaluation.workbench import tune

        grades = self.qrels() if qrels is None else qrels
        found = tune(self._first_hits, grades, self.ranking(ranking), measure)
        if save and found.gains:
            self.save_ranking(save, **found.ranking.weights())
        return found

    def _first_hits(self, query: str, ranking: "Ranking", limit: int) -> Sequence[Hit]:
        from nwx.answers.hits import Hits

        snippets = limit <= 10
        question = Question(query, ranking=ranking, limit=limit, snippets=snippets)
        return Hits(self._seen, question).page().hits
