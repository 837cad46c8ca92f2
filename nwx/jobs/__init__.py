"""Spark jobs for work that sorts, groups or reads everything; same results as on one machine."""
