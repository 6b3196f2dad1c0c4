"""What capture systems speak: datagrams in, poses out, and back. No sockets and no clocks in here.

osc        the bytes of Open Sound Control          vmc      Virtual Motion Capture, in and out
xsens      MVN's network stream (MXTP02), in        natnet   OptiTrack's NatNet 3, in
rokoko     Rokoko Studio's JSON, in and out         sample   what all of them give: one figure at one moment

Every decoder takes any bytes without raising: what it cannot read it counts and leaves out.
"""
