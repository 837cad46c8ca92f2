"""The dates of documents that dates indices know more of than the documents do."""
