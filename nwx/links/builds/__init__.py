"""How inlinks are built: parts, linking documents, ranges of targets."""
