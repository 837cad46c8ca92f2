"""The addresses of the tested pages."""

from tests.web.archive import HOME, HOME_TEXTS, HOSTILE_TEXT, id_of
from tests.web.checked_archive import HOME_SCORE, HOSTILE_SCORE

FIRST, SECOND, THIRD = (id_of(HOME, text) for text in HOME_TEXTS)
HOSTILE = id_of("http://evil.example/a", HOSTILE_TEXT)
LONG = id_of("http://long.example.net/", "Long quarry line.\n" * 4_000)
MISSING = id_of("http://www.example.org/missing", "Not found quarry")

PAGES = {
    "home": "/",
    "results": "/search?q=quarry",
    "all": "/search?q=",
    "filtered": "/search?q=quarry&language=en&language=fr&year=2014&from=2010&to=2016-05",
    "versions": "/search?q=quarry&collapse=none&sort=oldest&per_page=50",
    "more": "/search?q=quarry&more=host",
    "last page": "/search?q=quarry&page=5",
    "past the last": "/search?q=quarry&page=50",
    "nothing": "/search?q=zebra&language=de",
    "document": f"/documents/{FIRST}",
    "year": f"/documents/{FIRST}?year=2012",
    "hostile": f"/documents/{HOSTILE}",
    "long": f"/documents/{LONG}?part=2",
    "difference": f"/documents/{FIRST}/diff/{SECOND}",
    "no difference": f"/documents/{FIRST}/diff/{FIRST}",
    "explore": "/explore",
    "explore split": "/explore?by=month,type&feature=bytes",
    "explore compared": "/explore?by=type&where=tld%3Dorg&vs=tld%3Dcom",
    "explore captures": "/explore/captures?where=type%3Dhtml",
    "quality": "/quality",
    "quality filtered": "/quality?site=example.com&kind=far&page=2",
    "checked page": f"/quality/page?id={HOME_SCORE}",
    "hostile checked page": f"/quality/page?id={HOSTILE_SCORE}",
    "pictures": "/pictures?q=picture",
    "picture": f"/pictures/{FIRST}",
    "similar pictures": "/pictures/similar?hash=00000000000000ff",
    "settings": "/settings",
    "help": "/help",
    "api": "/api",
}

ERRORS = {
    "syntax": ("/search?q=quarry+(stone", 400),
    "hostile syntax": ("/search?q=<script>alert(1)</script>+(", 400),
    "too far": ("/search?q=quarry&page=1001", 400),
    "value": ("/search?q=quarry&sort=best", 400),
    "missing document": ("/documents/" + "0" * 32, 404),
    "missing page": ("/nowhere/<b>", 404),
}
