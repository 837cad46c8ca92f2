"""Words of the index that are spelled like another."""

from contextlib import nullcontext

from nwx.engine.search_server.cluster.partial_answers import partial_allowed
from nwx.engine.search_server.pages import search_page
from nwx.engine.search_server.server import Body, Server
from nwx.query.known_fields import DEFAULT_FIELDS
from nwx.query.similar_words import most_edits, nearest_words

_MOST_OPTIONS = 50


def similar_words(server: Server, index: str, word: str, most: int, *, partial: bool) -> list[str]:
    """Return words like another, as `Engine.similar_words` does.

    The term suggester of the server looks them up in each text field.
    """
    asked = {
        field: {
            "text": word,
            "term": {
                "field": field,
                "suggest_mode": "always",
                "size": _MOST_OPTIONS,
                "prefix_length": 1,
                "max_edits": 2,
                "min_word_length": 4,
            },
        }
        for field in DEFAULT_FIELDS
    }
    body: Body = {"size": 0, "suggest": asked, "track_total_hits": False}
    # Words may come of what is left: they are no answer, but a hint.
    with partial_allowed() if partial else nullcontext():
        answer = search_page(server, index, body)
    # Several words are several answers of one field.
    found = [answer["suggest"][field] for field in asked]
    if any(len(words) != 1 for words in found) or not most_edits(found[0][0]["text"]):
        return []
    options = [(one["text"], one["freq"]) for words in found for one in words[0]["options"]]
    return nearest_words(found[0][0]["text"], options, most)
