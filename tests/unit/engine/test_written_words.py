"""Words as written in texts, by index tokens."""

from nwx.engine.analyzer import tokens, written_words

FRENCH = "Les démarches d'aujourd'hui : l’école n'est pas la même, c'est l'été des DÉMARCHES"


def test_accents_and_elisions_stay() -> None:
    found = written_words(FRENCH)
    assert found["demarches"] == "démarches"
    assert found["ecole"] == "école"
    assert found["aujourd'hui"] == "aujourd'hui"
    assert found.keys() == set(tokens(FRENCH))
    assert written_words("the children's Straße, ŒUVRES") == {
        "the": "the",
        "children": "children",
        "strasse": "straße",
        "oeuvres": "œuvres",
    }


def test_stop_words_are_those_of_the_language() -> None:
    found = written_words(FRENCH, "fr")
    assert {"les", "pas", "la", "meme", "des"}.isdisjoint(found)
    assert {"demarches", "ete", "ecole"} <= found.keys()
    assert "die" not in written_words("die Uhr und the die", "de")
    assert "die" in written_words("the die is cast", "en")
    assert written_words("the", "xx") == {"the": "the"}
