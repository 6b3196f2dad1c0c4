"""Blending (Macleod 2006): frame distance, time warping, registration curves, blends, transitions, motion graphs."""
