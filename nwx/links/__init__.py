"""Links inverted: which pages link to a URL, with which words, and what was never captured."""
