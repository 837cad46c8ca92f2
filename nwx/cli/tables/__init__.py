"""What commands print as tables; apart from the commands, whose help needs none of it."""
