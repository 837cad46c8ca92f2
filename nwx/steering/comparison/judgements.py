"""Known relevance of pages, independent of their scores: judgements and spam hosts."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nwx.errors import SourceError
from nwx.steering.analysis.link_classifier import spam_host
from nwx.steering.comparison.crawl_orders import PageGraph


@dataclass(frozen=True, slots=True)
class SimulationTruth:
    """Known relevance of pages, independent of their scores: judgements by URL, and spam hosts.

    Without a judgement, a page of a spam host is not relevant, and scores decide on other pages.
    """

    judgements: Mapping[str, bool] = field(default_factory=dict)
    spam_hosts: frozenset[str] = frozenset()

    def by_page(
        self, hosts: Sequence[str], page_at: Callable[[str], int | None]
    ) -> dict[int, bool]:
        """Return the known relevance of pages by their numbers."""
        spam = (number for number, host in enumerate(hosts) if spam_host(host, self.spam_hosts))
        judged = ((page_at(url), relevant) for url, relevant in self.judgements.items())
        known = {number: relevant for number, relevant in judged if number is not None}
        return dict.fromkeys(spam, False) | known


def read_judged_pages(path: Path) -> dict[str, bool]:
    """Return the judgements of a file: a URL and a grade a line, 0 for not relevant.

    The CSV of `nwx judge --list` is read by its columns. Raises SourceError if the file cannot be
    read or has an invalid line.
    """
    found: dict[str, bool] = {}
    with SourceError.instead_of(OSError, f"{path} cannot be read"):
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    for number, words in _judged_words(lines):
        if not words or words[0].startswith("#"):
            continue
        if len(words) != _JUDGED_WORDS or not words[1].isdecimal():
            raise SourceError(
                f"{path}, line {number}: a judgement is a URL and a grade, 0 for not relevant"
            )
        found[words[0]] = found.get(words[0], False) or int(words[1]) > 0
    return found


def _judged_words(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line numbers with the URLs and grades of lines, or of a CSV with such columns."""
    rows = csv.DictReader(lines)
    if {"url", "grade"} <= {*(rows.fieldnames or ())}:
        yield from ((rows.line_num, [row["url"] or "", row["grade"] or ""]) for row in rows)
    else:
        yield from enumerate(map(str.split, lines), 1)


_JUDGED_WORDS = 2


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """How well document scores identify relevant pages, measured on the judged pages.

    `pages` were judged, `relevant` of them as relevant; scores identify `found` of these, and
    `mistaken` others.
    """

    pages: int
    relevant: int
    found: int
    mistaken: int

    @property
    def precision(self) -> float | None:
        """The share of relevant pages among those that scores identify, None without any."""
        scored = self.found + self.mistaken
        return self.found / scored if scored else None


def precision_of(graph: PageGraph, judgements: Mapping[int, bool]) -> JudgedSample | None:
    """Return how well the scores of pages agree with judgements; None without judgements."""
    if not judgements:
        return None
    scored = {page for page in judgements if graph.page(page).score >= graph.threshold}
    relevant = {page for page, judged in judgements.items() if judged}
    found = len(scored & relevant)
    return JudgedSample(len(judgements), len(relevant), found, len(scored) - found)
