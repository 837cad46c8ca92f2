"""What facet questions need: captures in bulk, and stored builds."""
