"""Human motion on a robot, as a file for its trainer. The robot here is made up; name your own MJCF or URDF instead."""

from pathlib import Path

import footplant
from footplant.edits.robot import retarget_robot

LEG = """<body name="{0}_hip_pitch" pos="0 {1} -.1"><joint name="{0}_hip_pitch" axis="0 1 0" range="-2 2"/>
<geom size=".03"/><body name="{0}_hip_roll"><joint name="{0}_hip_roll" axis="1 0 0" range="-1 1"/><geom size=".03"/>
<body name="{0}_hip_yaw"><joint name="{0}_hip_yaw" axis="0 0 1" range="-1 1"/><geom size=".03"/>
<body name="{0}_knee" pos="0 0 -.35"><joint name="{0}_knee" axis="0 1 0" range="-.05 2.5"/><geom size=".03"/>
<body name="{0}_ankle_pitch" pos="0 0 -.35"><joint name="{0}_ankle_pitch" axis="0 1 0" range="-1 1"/><geom size=".03"/>
<body name="{0}_ankle_roll"><joint name="{0}_ankle_roll" axis="1 0 0" range="-.5 .5"/>
<geom type="box" size=".1 .04 .02" pos=".03 0 -.04"/></body></body></body></body></body></body>"""
ARM = """<body name="{0}_shoulder_pitch" pos="0 {1} .4"><joint name="{0}_shoulder_pitch" axis="0 1 0"/>
<geom size=".03"/><body name="{0}_shoulder_roll"><joint name="{0}_shoulder_roll" axis="1 0 0"/><geom size=".03"/>
<body name="{0}_shoulder_yaw"><joint name="{0}_shoulder_yaw" axis="0 0 1"/><geom size=".03"/>
<body name="{0}_elbow" pos="0 0 -.25"><joint name="{0}_elbow" axis="0 1 0" range="-2.5 .1"/><geom size=".03"/>
<body name="{0}_hand" pos="0 0 -.25"><geom size=".04"/></body></body></body></body></body>"""
sides = "".join(
    part.format(side, sign * y) for part, y in ((LEG, 0.1), (ARM, 0.2)) for side, sign in (("left", 1), ("right", -1))
)
Path("own_robot.xml").write_text(
    '<mujoco model="own"><compiler angle="radian"/><worldbody><body name="pelvis"><freejoint/>'
    f'<geom type="box" size=".08 .1 .2" pos="0 0 .2"/>{sides}</body></worldbody></mujoco>'
)

result = retarget_robot(footplant.load("sample:walk"), "own_robot.xml", fps=30.0)
result.save("own_robot_walk.csv")
result.save("own_robot_walk.npz", layout="mjlab", order="physx")
print(f"{len(result.motion)} frames, {result.status}; the worst footplant drifts {result.quality.worst_drift:.3f} mm")
