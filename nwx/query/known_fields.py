"""Names of fields with a part in every query, filter or facet."""

DEFAULT_FIELDS: dict[str, float] = {"title": 3.0, "headings": 1.5, "content": 1.0, "url_text": 1.0}
"""Fields that a word without a field is looked up in, with their weights."""

ANCHOR = "anchor"
"""The field of anchor texts of the links to a document's URL, joined from inlinks."""

INLINK_COUNTS = {"inlinks": "documents", "linking_hosts": "hosts", "linking_domains": "domains"}
"""Fields that count the links to a document's URL, and the counts of inlinks they stand for."""

JOINED_FIELDS = {ANCHOR: "text", **dict.fromkeys(INLINK_COUNTS, "long")}
"""Fields of a query that documents do not have: they are joined from inlinks; and their types."""

CAPTURE_FIELDS = frozenset(
    {
        "collection",
        "timestamp",
        "crawl_date",
        "crawl_year",
        "source_file",
        "source_file_offset",
        "record_length",
    }
)
"""Fields that tell of the capture which the text of a document was read from, not of the text.

They find no document of which that capture is hidden (`Question.hidden`).
"""

FILTERS = {
    "collection": "collection",
    "domain": "domain",
    "host": "host",
    "type": "content_type_norm",
    "status": "status_code",
    "language": "content_language",
    "year": "year",
}
"""The filters of the command line, the pages and the API, and the fields they look at."""

FACET_FIELDS = (
    "collection",
    "domain",
    "host",
    "content_type_norm",
    "content_type",
    "status_code",
    "content_language",
    "public_suffix",
    "year",
)
"""What can be counted and filtered; collection and year look at all dates of a document."""
