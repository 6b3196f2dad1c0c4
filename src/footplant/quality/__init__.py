"""Quality of a motion: footplant drift, ground penetration, smoothness, and how far it is from its source."""
