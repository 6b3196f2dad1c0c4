"""Robots: the base and the hinges of a whole clip in one constrained least-squares problem."""
