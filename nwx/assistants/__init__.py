"""Access to an archive for AI assistants, by the Model Context Protocol: `nwx mcp`."""
