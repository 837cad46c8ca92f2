"""Judgements of results, evaluation of rankings by them, and tuning of weights."""
