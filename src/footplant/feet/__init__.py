"""Feet: footsteps, the ground they stand on, and the sole between its footplants."""
