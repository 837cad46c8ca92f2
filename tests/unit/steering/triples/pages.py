"""Pages with structured data."""

from nwx.steering.analysis.page_view import PageView, page_view
from nwx.steering.triples.structured_data import structured_triples

URL, WHEN = "http://a.example/dir/page", "20150102030405"
CAPTURE = f"urn:nwx:capture:{WHEN}:{URL}"
S = "https://schema.org/"


def view(html: str | bytes, url: str = URL) -> PageView:
    """Return a page with some markup."""
    data = html.encode() if isinstance(html, str) else html
    return page_view(data, url, WHEN)


def facts(html: str | bytes, url: str = URL) -> set[tuple[str, str, str]]:
    """Return the statements of a page, with short names for the capture and for schema.org."""
    return {
        (_short(str(one.subject)), _short(str(one.predicate)), _short(str(one.object)))
        for one in structured_triples(view(html, url))
    }


def _short(term: str) -> str:
    term = term.replace("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "a")
    return term.replace(CAPTURE, "").replace(S, "s:").strip("<>")
