"""Methods: each solves a whole motion under constraints, one file under its published name."""
