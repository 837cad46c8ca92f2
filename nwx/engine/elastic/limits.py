"""How much the server gives and takes at once."""

PAGE = 10_000
"""The most hits of one answer: Elasticsearch's index.max_result_window."""

MAX_IDS = 65_536
"""The most ids of one query: Elasticsearch's index.max_terms_count."""

FEW = 1_000
"""Up to so many documents of a result, all are looked at for its order."""
