"""Facets counted on Spark."""
