"""Facts that pages state in markup for machines, as RDF triples: nothing is fetched for them."""
