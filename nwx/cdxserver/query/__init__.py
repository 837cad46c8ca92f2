"""Parameters of a CDX query, parsed by the rules of a dialect."""
