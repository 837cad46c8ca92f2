"""Documents that share something: the same dates, or the hit that they are folded into."""
