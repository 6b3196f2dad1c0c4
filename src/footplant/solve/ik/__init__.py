"""Inverse kinematics of one instant; knows nothing of time."""
