"""The synthetic web is reproducible, has its features, and can be damaged precisely."""

import gzip
import re
from collections import Counter
from pathlib import Path

from tests.rendering.damage import (
    IMAGES,
    SCRIPT,
    STYLE,
    choose_damages,
    placed_records,
    remove_records,
)
from tests.rendering.made_site.addresses import FEATURES, HOSTS, LAYOUTS, page_of_resource
from tests.rendering.made_site.answers import MadeSite
from tests.warcs import Page, write_warc

_OWN = re.compile(rb"/own/(\d+)/[\w.-]+")
_CHANGING = re.compile(rb"Answer number \d+, made in \d+ ms")


def test_pages_are_many_and_vary() -> None:
    pages = MadeSite().pages
    assert len({page.url for page in pages}) == 240
    counts = Counter(feature for page in pages for feature in page.features)
    assert set(counts) == set(FEATURES)
    assert min(counts.values()) >= 20
    assert {page.layout for page in pages[:6]} == set(LAYOUTS)


def test_two_sites_of_a_seed_are_the_same_but_for_what_changes() -> None:
    first, second = MadeSite(60), MadeSite(240)
    second.answer("GET", second.pages[7].url)
    for page in first.pages:
        bodies = [site.answer("GET", page.url).body for site in (first, second)]
        same = [_CHANGING.sub(b"", re.sub(rb"<nav>.*</nav>", b"", body)) for body in bodies]
        assert same[0] == same[1]
    assert MadeSite(60, seed=1).pages != first.pages


def test_what_pages_name_is_answered() -> None:
    site = MadeSite(60)
    for page in site.pages:
        answers = [site.answer("GET", page.url)]
        answers += [
            site.answer("GET", f"http://{page.host}{page.own}{name}")
            for name in ("style.css", "page.js")
        ]
        named = {found[0] for each in answers for found in _OWN.finditer(each.body)}
        for path in named:
            answer = site.answer("GET", f"http://{page.host}{path.decode()}")
            assert (answer.status == 404) == (b"/dead." in path), path
            assert page_of_resource(path.decode()) == page.number
    assert site.answer("GET", "http://www.gazette.example/none").status == 404


def _archived(path: Path, site: MadeSite) -> Path:
    urls = [
        url
        for page in site.pages
        for url in (
            page.url,
            *(f"http://{page.host}{page.own}{name}" for name in ("style.css", "page.js")),
            *(f"http://{page.host}{page.image(number)}" for number in range(page.images)),
        )
    ]
    answers = {url: site.answer("GET", url) for url in urls}
    pages = [
        Page(url, "20200101000000", answer.body, answer.content_type)
        for url, answer in answers.items()
    ]
    return write_warc(path, pages)


def test_damage_takes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    site = MadeSite(24)
    whole = _archived(tmp_path / "whole.warc.gz", site)
    damages = choose_damages([whole], range(24), 9)
    assert Counter(damage.kind for damage in damages) == {STYLE: 3, SCRIPT: 3, IMAGES: 3}
    for damage in damages:
        assert {page_of_resource(url) for url in damage.urls} == {damage.page}
        if damage.kind == IMAGES:
            assert len(damage.urls) == -(-site.pages[damage.page].images // 3)
    taken = {url for damage in damages for url in damage.urls}
    damaged = tmp_path / "damaged.warc.gz"
    assert remove_records(whole, damaged, taken) == len(taken)
    content = whole.read_bytes()
    kept = [record for record in placed_records(whole) if record.url not in taken]
    rest = b"".join(content[each.offset : each.offset + each.length] for each in kept)
    assert damaged.read_bytes() == rest
    assert gzip.decompress(rest).count(b"WARC/1.1") == len(kept)


def test_hosts_are_made_up() -> None:
    assert all(host.endswith(".example") for host in HOSTS)
