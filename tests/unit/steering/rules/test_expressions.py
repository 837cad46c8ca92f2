"""Expressions of link rules by RE2."""

import pytest

from nwx.steering.rules.expressions import ExpressionSet, RuleError, compile_expression


def test_the_first_expression_that_is_found_is_told() -> None:
    known = ExpressionSet(["calendar", "(?i)SPAM$", "a|b"])
    assert known.first("http://x/calendar") == "calendar"
    assert known.first("http://x/spam") == "(?i)SPAM$"
    assert known.first("http://x/") == ""
    assert not ExpressionSet([])


def test_hundreds_are_searched_for() -> None:
    known = ExpressionSet([f"/page{n}/" for n in range(300)])
    assert known.first("http://x/page299/") == "/page299/"
    assert known.first("http://x/page300/") == ""


def test_a_quotation_that_is_not_closed_ends_with_its_expression() -> None:
    known = ExpressionSet([r"\Qa.b", "c", r"\Qd\E"])
    assert known.first("http://x/a.b") == r"\Qa.b"
    assert known.first("http://x/c") == "c"
    assert known.first("http://x/axb") == ""


@pytest.mark.parametrize("wrong", ["(", "a{1001}", "((a{100}){100}){100}", "(?=x)", r"(a)\1"])
def test_what_re2_does_not_take_is_an_error(wrong: str) -> None:
    with pytest.raises(RuleError):
        compile_expression(wrong)


def test_a_catastrophic_expression_takes_no_time() -> None:
    known = ExpressionSet([r"(x+x+)+y", r"(a|a)*b$"])
    assert known.first(f"http://h/{'x' * 16_000}{'a' * 300}") == ""
