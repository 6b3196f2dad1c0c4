"""Contact detection: when heels, balls of the feet and palms are in contact, with which ground, how important it is."""
