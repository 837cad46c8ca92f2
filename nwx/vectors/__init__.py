"""Search by meaning: passages of documents, their vectors, and questions about them."""
