"""Inverse kinematics of single poses; time enters only through the frames' own constraints."""
