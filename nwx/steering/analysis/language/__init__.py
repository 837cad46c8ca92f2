"""The language of pages: words, lemmas, and names found by rules or by a model."""
