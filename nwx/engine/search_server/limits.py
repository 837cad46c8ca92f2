"""How much the server gives and takes at once."""

PAGE = 10_000
"""The most hits of one answer: Elasticsearch's index.max_result_window."""

MAX_IDS = 65_535
"""The most documents of one list: Elasticsearch's index.max_terms_count and search.max_buckets."""

SHORT_LIST = 4_000
"""A list of so many documents is sent in less time than it takes to look for a shorter one."""

LOOKED_UP = 200
"""So many documents of a list are looked up in less time than it takes to send and run a script."""

COMPARED_FOR_EACH = 100
"""A script compares so many documents with a list in the time that one of the list is looked up."""

COMPARED = 20_000
"""So many documents are compared with a long list in less time than each search with it takes."""

FEW = 200
"""Up to so many documents of a result, all are looked at for its order."""

STEP = 2_000
"""The entries of dates of one step on the way to the first by date."""

DATES_OF_ENTRY = 1_000
"""The most dates of one entry; a document that was captured more often has several entries."""
