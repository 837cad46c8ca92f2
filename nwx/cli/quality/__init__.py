"""Commands about how captured pages play."""
