"""Style sheets, and styles within pages, to the URLs that they load."""
