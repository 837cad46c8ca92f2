"""An engine that shows what a viewer may see: each capability behind the rules."""
