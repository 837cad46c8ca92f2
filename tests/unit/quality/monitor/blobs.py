"""States kept in memory."""

from dataclasses import dataclass, field


@dataclass
class MemoryBlobs:
    """What keeps states as the index quality does, and counts how often."""

    kept: dict[str, bytes] = field(default_factory=dict)

    def put_state(self, name: str, state: bytes) -> None:
        """Keep a state."""
        self.kept[name] = state

    def state(self, name: str) -> bytes | None:
        """Return a state."""
        return self.kept.get(name)

    def quality_index(self) -> "MemoryBlobs":
        """Return itself: it is the archive too."""
        return self
