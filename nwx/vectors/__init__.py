"""Search by meaning: passages of documents, their vectors, and searches of them."""
