"""Checks of what an archive folder stores."""
