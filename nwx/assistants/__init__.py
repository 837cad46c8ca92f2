"""What assistants may ask an archive, by the Model Context Protocol: `nwx mcp`."""
