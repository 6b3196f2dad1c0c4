"""Protocols of capture systems: datagrams to poses, and back. No sockets or clocks in here.

osc        the bytes of Open Sound Control          vmc      Virtual Motion Capture, in and out
xsens      MVN's network stream (MXTP02), in        natnet   OptiTrack's NatNet 3, in
rokoko     Rokoko Studio's JSON, in and out         sample   what all of them give: one skeleton at one moment

Every decoder accepts any bytes without raising: what it cannot read it counts and drops.
"""
