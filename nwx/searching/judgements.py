"""The index `judgements`: queries to judge, grades of their results, and named rankings."""

import csv
import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from nwx.bulk.progress import batches
from nwx.engine.indices.entry_store import EntryStore
from nwx.errors import InsteadOf, SourceError, UrlError, UsageError
from nwx.query.parser import parse_query
from nwx.query.rankings import BUILT_IN, Ranking, ranking_of
from nwx.values.timestamps import to_timestamp
from nwx.values.urlkeys import urlkey

GRADES = (0, 1, 2, 3)
"""Not relevant, on the subject, good, exactly what the query means."""

LONGEST_JUDGED_QUERY = 500
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_MOST_URL = 8_000
_AT_ONCE = 500


class Judgement(NamedTuple):
    """A judge's grade of how well a URL answers a query."""

    query: str
    url: str
    grade: int
    judge: str = ""


class JudgementIndex:
    """The index `judgements` of an archive."""

    def __init__(self, store: EntryStore) -> None:
        self._store = store

    def rankings(self) -> list[Ranking]:
        """Return the rankings by name, built-in ones first."""
        stored = sorted(self._find("ranking"), key=lambda one: str(one["name"]))
        own = (ranking_of(json.loads(one["weights"]), one["name"]) for one in stored)
        return [*BUILT_IN.values(), *own]

    def ranking(self, name: str) -> Ranking:
        """Return a ranking by name; raises UsageError if it does not exist."""
        if name in BUILT_IN:
            return BUILT_IN[name]
        id = _id("ranking", name)
        found = self._store.get([id]) if self._store.is_made() else {}
        if id not in found:
            known = ", ".join(one.name for one in self.rankings())
            raise UsageError.translated(
                "there is no ranking %(name)s; use one of %(known)s",
                name=repr(name[:80]),
                known=known,
            )
        return ranking_of(json.loads(found[id]["weights"]), name)

    def save_ranking(self, name: str, weights: Mapping[str, float]) -> Ranking:
        """Store a ranking; weights not given have their defaults."""
        if name in BUILT_IN or not 0 < len(name) <= 80 or not name.isprintable():
            raise UsageError(f"{name[:80]!r} is not a valid ranking name; choose another name")
        ranking = ranking_of(weights, name)
        entry = {"id": _id("ranking", name), "kind": "ranking", "name": name}
        self._store.put([entry | {"weights": json.dumps(ranking.weights())}])
        return ranking

    def remove_ranking(self, name: str) -> bool:
        """Remove a stored ranking; return whether it existed."""
        return self._store.is_made() and bool(self._store.delete([_id("ranking", name)]))

    def add_queries(self, queries: Iterable[str]) -> int:
        """Store queries to be judged; return their number."""
        wanted = [text for one in queries if (text := " ".join(one.split()))]
        for text in wanted:
            _check(text)
        entries = [{"id": _id("query", text), "kind": "query", "query": text} for text in wanted]
        for some in batches(entries, _AT_ONCE):
            self._store.put(some)
        return len(entries)

    def queries(self) -> list[str]:
        """Return the queries to be judged, sorted."""
        return sorted(str(one["query"]) for one in self._find("query"))

    def add(self, judgements: Iterable[Judgement]) -> int:
        """Store judgements, each replacing the judge's earlier one; return their number."""
        entries, at = [], to_timestamp(datetime.now(UTC))
        for one in judgements:
            _check(one.query)
            if one.grade not in GRADES or not 0 < len(one.url) <= _MOST_URL:
                raise UsageError(f"{one.url[:80]!r}: expected a URL and a grade from 0 to 3")
            id = _id("judgement", one.query, one.judge, url_of(one.url))
            entries.append({"id": id, "kind": "judgement", "at": at, **one._asdict()})
        for some in batches(entries, _AT_ONCE):
            self._store.put(some)
        return len(entries)

    def judgements(self) -> list[Judgement]:
        """Return all judgements, sorted by query, URL and judge."""
        found = (
            Judgement(one["query"], one["url"], int(one["grade"]), one["judge"])
            for one in self._find("judgement")
        )
        return sorted(found, key=attrgetter("query", "url", "judge"))

    def _find(self, kind: str) -> Iterator[Mapping[str, str]]:
        return self._store.find({"kind": kind}) if self._store.is_made() else iter(())


def _check(query: str) -> None:
    if not 0 < len(query) <= LONGEST_JUDGED_QUERY:
        raise UsageError(f"a query to judge has 1 to {LONGEST_JUDGED_QUERY} characters")
    parse_query(query)  # an invalid query would make later judging and evaluation fail


def _id(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def url_of(url: str) -> str:
    """Return the urlkey of a URL, as which all its spellings are judged; urlkeys are unchanged."""
    with suppress(UrlError):
        return urlkey(url) if _SCHEME.match(url) else url
    return url


def distinct_urls(urls: Iterable[str]) -> list[str]:
    """Return the urlkeys of URLs, each once, in their order."""
    return list(dict.fromkeys(map(url_of, urls)))


Qrels = Mapping[str, Mapping[str, int]]
"""The grades by query and urlkey."""


def qrels_of(judgements: Iterable[Judgement]) -> Qrels:
    """Return the grades; where judges differ, the (lower) median."""
    grades: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in judgements:
        grades[one.query][url_of(one.url)].append(one.grade)
    return {
        query: {url: sorted(some)[(len(some) - 1) // 2] for url, some in of.items()}
        for query, of in grades.items()
    }


def read_judgements(path: Path) -> list[Judgement]:
    """Return the judgements in a CSV file (query, url, grade, judge), or in TREC qrels.

    In qrels (`TOPIC 0 URL GRADE`) the topic is the query, with `+` for spaces.
    """
    with (
        _unreadable(path),
        path.open(encoding="utf-8-sig", errors="replace", newline="") as stream,
    ):
        first = stream.readline()
        stream.seek(0)
        if "," in first and "query" in first:
            rows = [
                (one.get("query"), one.get("url"), one.get("grade"), one.get("judge") or "")
                for one in csv.DictReader(stream)
            ]
        else:
            parts = (line.split() for line in stream if line.strip())
            rows = [_trec_row(one) for one in parts]
    try:
        return [Judgement(query or "", url or "", int(g or ""), j) for query, url, g, j in rows]
    except ValueError as error:
        raise UsageError(f"{path}: {error}; a grade is a number from 0 to 3") from error


def _unreadable(path: Path) -> InsteadOf:
    return SourceError.instead_of((OSError, csv.Error), f"{path} cannot be read")


def _trec_row(parts: list[str]) -> tuple[str, str, str, str]:
    try:
        name, _, url, grade = parts
        return topic_query(name), url, str(max(0, min(int(grade), GRADES[-1]))), ""
    except ValueError as error:
        shown = " ".join(parts)[:80]
        raise UsageError(f"{shown!r} is not a line of qrels: TOPIC 0 URL GRADE") from error


def read_queries(path: Path) -> list[str]:
    """Return the queries in a file: its CSV column `query`, or else its lines."""
    with _unreadable(path):
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        if lines and "query" in next(csv.reader(lines[:1])):
            return [one["query"] or "" for one in csv.DictReader(lines)]
    return [line for line in lines if line.strip()]


def topic(query: str) -> str:
    """Return the topic of a query in TREC files: one word."""
    return "+".join(query.replace("%", "%25").replace("+", "%2B").split()) or "+"


def topic_query(text: str) -> str:
    """Return the query of a topic."""
    return text.replace("+", " ").replace("%2B", "+").replace("%25", "%").strip()


def qrels_lines(qrels: Qrels) -> Iterator[str]:
    """Yield grades as lines of TREC qrels."""
    for query, grades in sorted(qrels.items()):
        for url, grade in sorted(grades.items()):
            yield f"{topic(query)} 0 {url} {grade}"


def run_lines(name: str, results: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield results by query as lines of a TREC run."""
    tag = topic(name)
    for query, urls in sorted(results.items()):
        for place, url in enumerate(urls, 1):
            yield f"{topic(query)} Q0 {url} {place} {1 / place:.6f} {tag}"


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the results of a TREC run by query, highest score first.

    Equal scores are in descending order of URL, as in trec_eval.
    """
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            name, _, url, _, score, _ = line.split()
            found[topic_query(name)].append((float(score), url))
            if math.isnan(float(score)):
                raise ValueError("a score is not a number")
        except ValueError as error:
            message = f"{path}: {line[:80]!r} is not a line of a run: TOPIC Q0 URL RANK SCORE TAG"
            raise UsageError(message) from error
    return {query: [url for _, url in sorted(some, reverse=True)] for query, some in found.items()}
