"""Duplicates and revisits found on Spark."""
