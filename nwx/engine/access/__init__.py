"""Who may see which captures: access rules, their decisions, and their storage."""
