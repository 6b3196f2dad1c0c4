"""Solvers: inverse kinematics of one frame (`ik`) and methods for a whole motion (`methods`)."""
