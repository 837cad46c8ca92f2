"""Links of pages: their roles, what is around them, and which are never followed."""
