"""Live engines: state in, pose out, frame by frame; clocks and sockets stay outside them."""
