"""How captured pages play: the list of pages, worst first, and each page with both its pictures."""
