"""Edits: one job a file. Each says what must hold, and calls a solver."""
