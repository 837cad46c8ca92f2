"""Inlinks as they are stored: tables of one build, read by both engines."""
