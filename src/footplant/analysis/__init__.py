"""What a motion does: where it touches, and how good it is."""
