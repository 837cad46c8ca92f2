"""How much the server gives and takes at once."""

PAGE = 10_000
"""The most hits of one answer: Elasticsearch's index.max_result_window."""

MAX_IDS = 65_535
"""The most documents of one list: Elasticsearch's index.max_terms_count and search.max_buckets."""

SHORT_LIST = 4_000
"""Lists of so many documents are sent to and fro in less time than a broad search takes."""

FEW = 200
"""Up to so many documents of a result, all are looked at for its order."""

STEP = 2_000
"""The entries of dates of one step on the way to the first by date."""
