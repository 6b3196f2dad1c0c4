"""Optical motion capture: labelled markers to a scaled skeleton and its motion."""
