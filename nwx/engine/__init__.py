"""Engines, which store the indices of an archive: one interface, several implementations."""
