"""Elementary values of web archives: URLs, urlkeys, timestamps, digests, media types, HTTP."""
