"""Places by a gazetteer."""

from nwx.steering.analysis.language.gazetteer import Gazetteer

TABLE = "1\tMünchen\tMunchen\tMunich"


def test_places_are_found_in_lists_and_tables() -> None:
    gazetteer = Gazetteer(
        [
            "Dresden\n",
            "# a comment",
            "Ulm # on the Danube",
            "東京",
            "Io",
            "1\tMünchen\tMunchen\tMunich",
        ]
    )
    assert len(gazetteer) == 4
    text = "From Dresden and MÜNCHEN to Ulm, ulm and Dresdens 東京都"
    assert [(place.text, place.kind) for place in gazetteer.places_in(text)] == [
        ("Dresden", "place"),
        ("München", "place"),
        ("Ulm", "place"),
        ("東京", "place"),
    ]
