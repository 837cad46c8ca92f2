"""States in memory."""

from dataclasses import dataclass, field


@dataclass
class MemoryBlobs:
    """Stores states like the quality index, and counts how often."""

    kept: dict[str, bytes] = field(default_factory=dict)

    def put_state(self, name: str, state: bytes) -> None:
        """Store a state."""
        self.kept[name] = state

    def state(self, name: str) -> bytes | None:
        """Return a state."""
        return self.kept.get(name)

    def quality_index(self) -> "MemoryBlobs":
        """Return itself, as it also stands for the archive."""
        return self
