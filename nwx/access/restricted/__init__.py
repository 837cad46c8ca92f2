"""An engine limited to what a viewer may see: access rules apply to each capability."""
