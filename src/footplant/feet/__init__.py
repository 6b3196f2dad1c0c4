"""Feet: footsteps, the ground under them, and soles between footplants."""
