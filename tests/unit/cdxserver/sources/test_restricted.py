"""Indexes of captures beside an archive, as a viewer may see them."""

from collections.abc import Iterator, Sequence

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.sources.restricted import RestrictedSource
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope, checked_rule
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan, exactly

_ALL = CdxSpan("", chr(0x10FFFF))
_FORM = CdxLineForm((0,), bare_digests=False)
SECRET = "http://com,secret)/"
_DIGEST = "HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"


def _row(urlkey: str, digest: str = "-", collection: str = "web") -> CdxRow:
    url = f"http://{urlkey}"
    fields = (urlkey, "20100101000000", url, "text/html", "200", digest, "-", "-", "1", "2", "a")
    return CdxRow(*fields, collection)


class _Source:
    name, is_local = "some rows", True
    _rows = (
        _row("com,a)/"),
        _row("com,b)/", _DIGEST),
        _row("com,c)/", collection="else"),
        _row("com,d)/")._replace(redirect=SECRET),
    )

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        return (row for row in self._rows if span.start <= f"{row.urlkey} " < span.end)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterator[CdxBlock] | None:
        return iter((CdxBlock(rows=tuple(self.rows(span))),))

    def marks(self, span: CdxSpan) -> Iterator[str]:
        return (f"{row.urlkey} {row.timestamp}" for row in self.rows(span))

    def collections(self) -> Sequence[str]:
        return ["else", "web"]

    def close(self) -> None:
        raise AssertionError("the source is another's")


def _seen(*scopes: Scope) -> RestrictedSource:
    rules = (checked_rule(AccessRule("", Action.EXCLUDE, scope)) for scope in scopes)
    decisions = AccessRules(rules, "1").for_viewer(EVERYBODY)
    return RestrictedSource(_Source(), decisions, lambda urls: {SECRET}.intersection(urls))


def test_hidden_rows_are_left_out() -> None:
    scopes = Scope(prefix="com,a)/"), Scope(digest=f"sha1:{_DIGEST}"), Scope(collection="else")
    seen = _seen(*scopes)
    assert [row.urlkey for row in seen.rows(_ALL)] == ["com,d)/"]
    assert [row.redirect for row in seen.rows(_ALL)] == ["-"]
    assert list(seen.marks(_ALL)) == ["com,d)/ 20100101000000"]
    assert seen.blocks(_ALL, _FORM) is None
    assert seen.collections() == ["web"]
    seen.close()


def test_spans_that_no_rule_is_about_are_passed_through() -> None:
    seen = _seen(Scope(prefix="com,a)/"))
    assert seen.blocks(exactly("com,d)/"), _FORM) is not None
    assert [row.urlkey for row in seen.rows(exactly("com,d)/"))] == ["com,d)/"]
    assert len(list(seen.marks(exactly("com,d)/")))) == 1
