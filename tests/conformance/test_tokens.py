"""Both engines split texts into the same tokens."""

import unicodedata
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

from nwx.engine.analyzer import tokens
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.writes import next_version
from nwx.engine.server_engines import ElasticServer
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings
from tests.conformance.engines.search_server import remove_indices
from tests.conformance.test_scripts import TEXTS

Tokenize = Callable[[Sequence[str]], list[list[str]]]

BETWEEN = " \n "
CHUNK = 3_000  # strings per request; the server returns at most 10,000 tokens
NARROW_BLANK = "\u202f"
"""Joins words in the grammar; the embedded engine replaces it by another character in tokens."""

POOLS = (
    *("abz", "ABZ", "éÖß", "0129", "'.’·:,;", "_", " ", "-/()", "\u200b\u00ad", "\u0301\u0308"),
    *("カナー", "ひら", "東京", "々〆", "㌀㍿", "𠀀", "한국", "각", "ابة", "٠١٬٫", "ﷺ", "אבג״׳"),
    *("ldsç", "'’", "LDS＇‘"),
    *("กขงเ", "ကခ", "កខ", "हिन्", "ⴰⵣ", "𐐷𐐀", "İı", "ﬁﬂ", "ǆ", "Ⅷ①½", "ªº", "😀👍🏽", "🇩🇪🇫", "©™#*"),
)
"""Characters for random texts, treated differently by the grammar."""


@pytest.fixture(scope="module")
def elastic_tokens(elasticsearch_url: str) -> Iterator[Tokenize]:
    """Returns the tokens that the documents index makes of many strings."""
    settings = Settings(elasticsearch_url, ServerSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    server = ElasticServer(settings.engine, settings.server)
    schema = Schema(server, settings.server)
    schema.create()

    def tokenize(texts: Sequence[str]) -> list[list[str]]:
        places, place = [], 0
        for text in texts:
            places.append(place)
            place += len((text + BETWEEN).encode("utf-16-le")) // 2
        found: list[list[str]] = [[] for _ in texts]
        body = {"analyzer": "text", "text": BETWEEN.join(texts)}
        name = next_version(schema.name(IndexName.DOCUMENTS))
        for token in server.request("POST", f"/{name}/_analyze", body)["tokens"]:
            found[bisect_right(places, token["start_offset"]) - 1].append(token["token"])
        return found

    yield tokenize
    server.close()
    remove_indices(settings)


def differences(tokenize: Tokenize, texts: Sequence[str]) -> list[tuple[str, list[str], list[str]]]:
    """Return the texts that the engines split differently, with both results."""
    different = []
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        for text, theirs in zip(chunk, tokenize(chunk), strict=True):
            if tokens(text) != theirs:
                different.append((text, tokens(text), theirs))
    return different


def test_the_filter_is_there(elastic_tokens: Tokenize) -> None:
    assert elastic_tokens(["Élysée"]) == [["elysee"]]


def test_texts_of_all_scripts(elastic_tokens: Tokenize) -> None:
    assert differences(elastic_tokens, list(TEXTS.values())) == []


@pytest.mark.parametrize(
    "text",
    [
        "e-mail: user_name@example.org, http://example.org/a?b=c#d",
        "3.14 1,000,000 1.2.3 12:30 v2.0 $5.00 50% C++ C# .NET",
        "children's ÉLÈVE’S l'on’s d'l'été D＇'s qu‘il Ç'a dell’arte metall'arc un'altra's l's s's",
        "don't won’t rock'n'roll O'Brien l'Élysée d’été x' 'y",
        "a_b __init__ _x y_ foo.bar.baz a.b, c;d",
        "AT&T R&D M.I.T. U.S.A. Ph.D. e.g. i.e.",
        "Zürich ŒUVRE œuvre ﬁne ﬂow ǅ Ĳssel ŀ Ⅷ ½ ①②③ ²³ ™ ©",
        "x" * 254 + " " + "y" * 255 + " " + "z" * 256 + " " + "w" * 1000,
        "é" * 300 + " " + "日" * 300 + " " + "1" * 300,
        "👩‍👩‍👧 👍🏽 🇩🇪🇫🇷 ❤️ 5️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "\u00ad\u200b\u200d\ufeff\u202a zero​width so\u00adft",
        "\x00 \x01 \x1f \x7f \x85 \u2028 \u2029",
        "",
        "  \n\t ",
    ],
)
def test_texts_that_are_hard_to_cut(elastic_tokens: Tokenize, text: str) -> None:
    assert tokens(text) == elastic_tokens([text])[0]


def test_every_character(elastic_tokens: Tokenize) -> None:
    characters = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
    ]
    alone = differences(elastic_tokens, characters)
    assert alone == []
    between = differences(elastic_tokens, [f"x{character}y" for character in characters])
    assert [text for text, _, _ in between] == [f"x{NARROW_BLANK}y"]


def test_characters_by_chance(elastic_tokens: Tokenize) -> None:
    chance = Random(15)
    texts = [
        "".join(chance.choice(chance.choice(POOLS)) for _ in range(chance.randint(2, 9)))
        for _ in range(5_000)
    ]
    assert differences(elastic_tokens, texts) == []
