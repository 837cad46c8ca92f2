"""Who may see which captures: access rules, what they say of a capture, and where they are kept."""
