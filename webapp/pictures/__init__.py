"""Pictures of captured pages: thumbnails, and renders as they are stored."""
