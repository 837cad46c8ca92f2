"""Where indices live: one interface, two engines."""
