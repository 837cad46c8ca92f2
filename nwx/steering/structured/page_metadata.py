"""OpenGraph and Dublin Core: the `<meta>` elements of a page as statements about it."""

from pyoxigraph import NamedNode

from nwx.steering.analysis.page_view import PageView
from nwx.steering.structured.draft import TripleDraft
from nwx.steering.structured.terms import iri, literal, page_iri

_NAMESPACES = {
    "og": "http://ogp.me/ns#",
    "article": "http://ogp.me/ns/article#",
    "book": "http://ogp.me/ns/book#",
    "profile": "http://ogp.me/ns/profile#",
    "music": "http://ogp.me/ns/music#",
    "video": "http://ogp.me/ns/video#",
    "fb": "http://ogp.me/ns/fb#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
}
_ADDRESSES = frozenset(
    ("og:url", "og:image", "og:image:url", "og:image:secure_url", "og:video", "og:audio")
)


def read_metadata(page: PageView, draft: TripleDraft) -> None:
    """Add what the metadata of a page say to a draft."""
    subject = page_iri(page.url)
    for name, values in page.metadata.items():
        predicate = _predicate(name)
        if predicate is None:
            continue
        for value in values:
            address = iri(value) if name in _ADDRESSES else None
            draft.add(subject, predicate, address or literal(value, ""))


def _predicate(name: str) -> NamedNode | None:
    """Return the property of a name like `og:title` or `dc.creator`."""
    prefix, sign, rest = name.partition(":" if ":" in name else ".")
    namespace = _NAMESPACES.get(prefix)
    if not (namespace and sign and rest):
        return None
    return iri(namespace + rest.replace(" ", ""))
