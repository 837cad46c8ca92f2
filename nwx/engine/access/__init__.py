"""Access control of captures: rules, their decisions, and their storage."""
