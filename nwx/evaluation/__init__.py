"""Judgements of results, measures of rankings by them, and weights that do better."""
