"""Files of judgements, qrels and runs."""

from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import SourceError, UsageError
from nwx.model import IndexName
from nwx.searching.judgements import (
    Judgement,
    JudgementIndex,
    qrels_lines,
    qrels_of,
    read_judgements,
    read_queries,
    read_run,
    run_lines,
    url_of,
)

URL = "http://www.example.org/a"


def test_judges_that_differ_make_the_middle_grade() -> None:
    grades = [Judgement("q", URL, grade, str(grade)) for grade in (3, 0, 2)]
    assert qrels_of(grades) == {"q": {"org,example)/a": 2}}
    assert qrels_of(grades[:2]) == {"q": {"org,example)/a": 0}}


def test_judgements_come_by_query_url_and_judge(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        index = JudgementIndex(engine.entry_store(IndexName.JUDGEMENTS))
        index.add(Judgement("q", URL, grade, judge) for grade, judge in ((1, "bob"), (3, "ann")))
        assert [one.judge for one in index.judgements()] == ["ann", "bob"]


def test_qrels_and_csv_are_read(tmp_path: Path) -> None:
    qrels = qrels_of([Judgement("two words", URL, 2), Judgement("c++ 50%2B", URL, 1)])
    (tmp_path / "qrels").write_text("\n".join(qrels_lines(qrels)))
    assert qrels_of(read_judgements(tmp_path / "qrels")) == qrels
    (tmp_path / "a.csv").write_text(f"query,url,grade\ntwo words,{URL},2\nc++ 50%2B,{URL},1\n")
    assert qrels_of(read_judgements(tmp_path / "a.csv")) == qrels
    wrong_lines = b"two words\n", f"query,url,grade\nx,{URL},good\n".encode()
    for wrong in (*wrong_lines, f"x 0 {URL} good\n".encode(), b"\xff\xfe\x00x"):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(UsageError):
            read_judgements(tmp_path / "wrong")


def test_runs_are_written_and_read(tmp_path: Path) -> None:
    results = {"two words": ["b", "a"], "x": ["c"]}
    (tmp_path / "run").write_text("\n".join(run_lines("default", results)))
    assert read_run(tmp_path / "run") == results
    for score in ("best", "nan"):
        (tmp_path / "wrong").write_text(f"x Q0 a 1 {score} me\n")
        with pytest.raises(UsageError, match="not a line of a run"):
            read_run(tmp_path / "wrong")


def test_equal_scores_of_a_run_are_ordered_as_in_trec_eval(tmp_path: Path) -> None:
    scores = {"a": 1, "c": 1, "d": 2, "b": 1}
    lines = (f"x Q0 {url} 1 {score} me\n" for url, score in scores.items())
    (tmp_path / "run").write_text("".join(lines))
    assert read_run(tmp_path / "run") == {"x": ["d", "c", "b", "a"]}


def test_a_csv_file_with_an_open_quotation_mark_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text('query,url,grade\n"' + "x" * 200_000)
    for read in (read_judgements, read_queries):
        with pytest.raises(SourceError, match="field larger than field limit"):
            read(tmp_path / "wrong")


def test_queries_are_lines_or_a_column(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\n\ntwo words\n")
    (tmp_path / "table").write_text("language,query\nen,one\nde,two words\n")
    assert read_queries(tmp_path / "lines") == read_queries(tmp_path / "table")


def test_urlkeys_stay_what_they_are() -> None:
    key = url_of("http://a.com/?u=http://b.com/")
    assert key == url_of(key) == "com,a)/?u=http://b.com/"
