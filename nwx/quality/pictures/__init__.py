"""Pictures of archives, which may be broken or made to do harm: decoded within bounds, scaled."""
