"""Pairs of pages and their missing resources."""
