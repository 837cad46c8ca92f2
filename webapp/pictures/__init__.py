"""Pictures of captured pages: thumbnails and stored renders."""
