"""The protocol of the crawler's queue, delivery of updates, and URLs due for recapture."""
