"""Archives restricted to what a viewer may see."""
