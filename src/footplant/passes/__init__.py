"""Corrections that run after a solve: hands in contact, and limits on acceleration."""
