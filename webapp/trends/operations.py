"""What programs can ask of queries over time and of distinctive words."""

from nwx.query.dates import Period
from nwx.searching.distinctive_words import MOST_WORDS, DistinctiveWords
from nwx.searching.trends import MOST_QUERIES, Trends
from webapp.search.operations import FILTER_PARAMETERS
from webapp.site.openapi import COUNT, TEXT, Operation, Parameter

TRENDS_PARAMETERS = (
    Parameter(
        "q",
        f"a query, in Lucene syntax; up to {MOST_QUERIES}",
        {"type": "array", "items": TEXT, "maxItems": MOST_QUERIES},
    ),
    *FILTER_PARAMETERS,
    Parameter("by", "the unit of time", {"enum": list(Period), "default": "year"}),
)

WORDS_PARAMETERS = (
    Parameter("q", "the query, in Lucene syntax; all documents without it"),
    *FILTER_PARAMETERS,
    Parameter("limit", "the words to return", {**COUNT, "minimum": 1, "maximum": MOST_WORDS}),
)

TRENDS_OPERATIONS = (
    Operation(
        "trends",
        "/api/trends",
        "Captures and documents of queries by year or month",
        TRENDS_PARAMETERS,
        Trends,
        example="/api/trends?q=archive&q=library&by=year",
    ),
    Operation(
        "words",
        "/api/words",
        "The words that tell the results of a query from the whole archive",
        WORDS_PARAMETERS,
        DistinctiveWords,
        example="/api/words?q=archive",
    ),
)
