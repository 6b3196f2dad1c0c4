"""Robots: mechanisms of hinges with ranges, masses and collision solids, and how they stand for a human body."""
