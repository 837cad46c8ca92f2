"""All that a page states together."""

import pickle

from nwx.steering.structured.triples import structured_data, structured_triples
from tests.unit.steering.structured.pages import facts, view

PAGE = """<meta property="og:title" content="T">
<script type="application/ld+json">{"@context": "http://schema.org", "name": "A"}</script>
<p itemscope itemtype="http://schema.org/Person"><b itemprop="name">B</b></p>"""


def test_the_same_page_gives_the_same_triples() -> None:
    first, again = structured_triples(view(PAGE)), structured_triples(view(PAGE))
    assert first == again
    assert len(first) == 4
    assert pickle.loads(pickle.dumps(first)) == first
    assert {subject for subject, key, _ in facts(PAGE) if key == "s:name"} == {"#n1", "#n2"}


def test_hostile_markup_is_told() -> None:
    many = " ".join(f"a{n}" for n in range(20_000))
    page = view(f"<p itemscope {many}>x</p>")
    assert structured_data(page).problems == ("markup: a tag of more than 1000 attributes",)
    for data in (b"", b"\x00itemscope\xff", b"itemscope" * 1_000_000):
        assert structured_triples(view(data)) == []
