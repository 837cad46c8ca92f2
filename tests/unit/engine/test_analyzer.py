"""Tokens equal those of Lucene's standard tokenizer, lower-cased and folded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.analyzer import (
    _exact_tokens,
    _folder,
    fold,
    tokenized,
    tokens,
)

# Output of StandardTokenizer, LowerCaseFilter and ASCIIFoldingFilter in Lucene 10.3.1.
AS_LUCENE = {
    "": [],
    " .,;'-_/ ": [],
    "Don't panic": ["don't", "panic"],
    "l’Été d'O'Brien children’s": ["ete", "o'brien", "children"],
    "3.14 1,000.5 1;2 1:2": ["3.14", "1,000.5", "1;2", "1", "2"],
    "http://www.example.org/page_1.html": ["http", "www.example.org", "page_1", "html"],
    "a:b c.d U.S.A. x.1 1.x": ["a:b", "c.d", "u.s.a", "x", "1", "1", "x"],
    "foo_bar __init__ _ a_.b": ["foo_bar", "__init__", "a_", "b"],
    "C++ C# e-mail@x.org": ["c", "c", "e", "mail", "x.org"],
    "Élysée naïve Ærø straße": ["elysee", "naive", "aero", "strasse"],
    "ﬁne ĳ ＦＵＬＬ １２３ ①": ["fine", "ij", "full", "123"],
    "ΟΔΟΣ ΑΣ ς": ["οδοσ", "ασ", "ς"],
    "İstanbul ISTANBUL ışık": ["istanbul", "istanbul", "isik"],
    "東京都 東京タワー": ["東", "京", "都", "東", "京", "タワー"],
    "ひらがな カタカナ ｶﾀｶﾅ": ["ひ", "ら", "が", "な", "カタカナ", "ｶﾀｶﾅ"],
    "한국어 검색": ["한국어", "검색"],
    "ภาษาไทย ສະບາຍດີ မြန်မာ ភាសាខ្មែរ": ["ภาษาไทย", "ສະບາຍດີ", "မြန်မာ", "ភាសាខ្មែរ"],
    "ภาษาabc": ["ภาษา", "abc"],
    "עברית צה״ל ג׳": ["עברית", "צה״ל", "ג׳"],
    "العربية مرحبا": ["العربية", "مرحبا"],
    "हिन्दी தமிழ்": ["हिन्दी", "தமிழ்"],
    "10\u202f000 a\u00a0b soft\u00adhyphen": ["10\u202f000", "a", "b", "soft\u00adhyphen"],
    "😀😀 👩🏽\u200d🚀 🇫🇷 ❤️ #️⃣ ©": ["😀", "😀", "👩🏽\u200d🚀", "🇫🇷", "❤️", "#️⃣", "©"],
    "e\u0301te\u0301": ["e\u0301te\u0301"],
    "\ue000private \ufdd0": ["private"],
}


@pytest.mark.parametrize("text", AS_LUCENE)
def test_tokens_are_those_of_lucene(text: str) -> None:
    found = [token.replace("\ufdd0", "\u202f") for token in tokens(text)]
    assert found == AS_LUCENE[text]


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("a" * 255, [255]),
        ("a" * 256, [255, 1]),
        ("x " + "a" * 600 + " y", [1, 255, 255, 90, 1]),
        ("é" * 256, [255, 1]),
        ("\U0001d400" * 200, [127, 73]),
        ("ไ" * 300 + "a", [255, 45, 1]),
        ("1." * 300, [255, 255, 87]),
        ("漢" * 400, [1] * 400),
    ],
)
def test_long_tokens_are_cut_where_lucene_cuts_them(text: str, lengths: list[int]) -> None:
    assert [len(token) for token in tokens(text)] == lengths


_SIGNS = st.text(alphabet="aB1_'.:,;\"- \t\n/é漢ไ’שҀ\u202f", max_size=60)


@given(_SIGNS | st.text(max_size=60))
def test_short_cuts_make_the_tokens_of_the_grammar(text: str) -> None:
    exact = "".join(_folder().analyze(_exact_tokens(text))).split()
    assert tokens(text) == exact


@given(st.text(max_size=80))
def test_tokens_hold_no_blanks(text: str) -> None:
    assert tokenized(text).split() == [one for one in tokenized(text).split(" ") if one]


def test_patterns_are_folded_as_tokens_are() -> None:
    assert fold("ÉLYSÉE*İ?ß") == "elysee*i?ss"
