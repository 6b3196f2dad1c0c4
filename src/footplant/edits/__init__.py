"""Edits: the jobs that people do, each a question put to a method."""
