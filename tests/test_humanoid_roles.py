"""Corrections, declarations and refusals of humanoid roles, and the interpretation of names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from figures import Rig, build
from footplant import humanoid
from footplant.errors import FormatError, HumanoidError
from footplant.humanoid.names import read
from footplant.samples import mannequin
from footplant.skeleton import Skeleton


def test_mannequin_roles_are_found():
    skeleton = mannequin.skeleton()
    found = humanoid.find_roles(skeleton)
    assert dict(found.joints) == dict(mannequin.roles(skeleton).joints)
    assert found.overall > 0.9


@pytest.mark.parametrize(
    ("name", "side", "part", "kind"),
    [
        ("mixamorig:LeftUpLeg", "left", "upper_leg", "bone"),
        ("Bip01 R Forearm", "right", "lower_arm", "bone"),
        ("lfemur", "left", "upper_leg", "bone"),
        ("rButtock", "right", None, "bone"),
        ("jLeftKnee", "left", "lower_leg", "bone"),
        ("L5", None, "spine", "bone"),
        ("LThumb", "left", "thumb", "bone"),
        ("ring_01.l", "left", "ring", "bone"),
        ("upperarm_twist_01_r", "right", "upper_arm", "twist"),
        ("ik_foot_l", "left", "foot", "helper"),
        ("J_Sec_Hair1_01", None, None, "other"),
        ("左足首", "left", "foot", "bone"),
        ("右足", "right", "upper_leg", "bone"),
        ("Bip01 L Finger21", "left", "middle", "bone"),
        ("finger5-2.R", "right", "little", "bone"),
        ("LegLowerLeft", "left", "lower_leg", "bone"),
        ("Pelvis", None, "hips", "bone"),
        ("hip_l", "left", "upper_leg", "bone"),
        ("joint_12", None, None, "bone"),
    ],
)
def test_names(name, side, part, kind):
    reading = read(name)
    best = max(reading.parts, key=lambda key: reading.parts[key]) if reading.parts else None
    assert (reading.side, best, reading.kind) == (side, part, kind)


def test_corrections_win(tmp_path):
    skeleton = mannequin.skeleton()
    path = tmp_path / "roles.toml"
    path.write_text('[roles]\nleft_hand = "LeftLowerArm"\nspine = ["Spine", "Chest"]\n')
    corrections = humanoid.read_corrections(path)
    assert corrections == {"left_hand": ("LeftLowerArm",), "spine": ("Spine", "Chest")}
    roles = humanoid.find_roles(skeleton, declared={"left_hand": ("LeftHand",)}, corrections=corrections)
    assert roles["left_hand"] == skeleton.index("LeftLowerArm")
    assert roles.joints["spine"] == (skeleton.index("Spine"), skeleton.index("Chest"))
    assert roles.confidence["left_hand"] == 1.0
    assert "corrected" in roles.reasons["left_hand"]
    # a joint claimed by a correction loses its previous role
    assert "left_lower_arm" not in roles


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[roles\n", "line 1"),
        ("hips = 1\n", r"\[roles\]"),
        ('[roles]\nhipps = "Hips"\n', "left_upper_leg"),
        ("[roles]\nhips = 3\n", "joint name"),
        ('[roles]\nhips = ["A", "B"]\n', "one joint"),
        ("[roles]\nhips = []\n", "joint name"),
    ],
)
def test_bad_corrections(tmp_path, text, message):
    path = tmp_path / "roles.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        humanoid.read_corrections(path)


def test_missing_corrections(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        humanoid.read_corrections(tmp_path / "none.toml")


def test_unknown_joint_lists_what_exists():
    with pytest.raises(HumanoidError, match="LeftUpperArm"):
        humanoid.find_roles(mannequin.skeleton(), corrections={"hips": ("Pelvis",)})
    with pytest.raises(HumanoidError, match="expected a role among"):
        humanoid.find_roles(mannequin.skeleton(), corrections={"belly": ("Hips",)})


def test_short_legs_feet_apart_and_no_hands():
    """Cartoon characters for games: feet driven by their own bones, fingers on the forearm, very short legs."""
    fingers = [
        (f"{finger}{joint}.@", "LowerArm.@" if joint == 1 else f"{finger}1.@", (0.75 + 0.2 * joint, 1.42, place))
        for finger, place in (("Thumb", 0.1), ("Index", 0.05), ("Pinky", -0.05)) for joint in (1, 2)
    ]  # fmt: skip
    rig = Rig(
        "Body", "Hips,Abdomen,Torso", "Head",
        "clavicle=Shoulder.@; upper_arm=UpperArm.@; lower_arm=LowerArm.@; upper_leg=UpperLeg.@; lower_leg=LowerLeg.@",
        "Neck", ("L", "R"), "Root",
        extras=[("Foot.@", "Root", (0.09, 0.08, -0.01)), ("PoleTarget.@", "Root", (0.09, 0.5, 1.5)), *fingers],
        roles={"foot": "Foot.@", "thumb": "Thumb1.@,Thumb2.@", "index": "Index1.@,Index2.@"},
    )  # fmt: skip
    skeleton, expected = build(rig)
    offsets = np.array(skeleton.offsets)
    for side in "LR":
        offsets[skeleton.index(f"LowerLeg.{side}")] *= 0.4
    figure = replace(skeleton, offsets=offsets)
    roles = humanoid.find_roles(figure)
    found = {role: tuple(figure.names[joint] for joint in chain) for role, chain in roles.joints.items()}
    assert {role: found.get(role) for role in expected} == expected
    assert "left_hand" not in found


def test_a_trunk_of_one_joint():
    rig = Rig(
        "Torso", "", "Head",
        "upper_arm=Arm.@; lower_arm=Elbow.@; hand=Hand.@; upper_leg=Thigh.@; lower_leg=Knee.@; foot=Foot.@",
        "", ("L", "R"),
    )  # fmt: skip
    skeleton, expected = build(rig)
    roles = humanoid.find_roles(skeleton)
    found = {role: tuple(skeleton.names[joint] for joint in chain) for role, chain in roles.joints.items()}
    assert {role: found.get(role, ()) for role in expected} == expected


def test_chain_is_refused():
    names = tuple(f"link{number}" for number in range(15))
    chain = Skeleton(names, np.arange(-1, 14), np.tile([0.0, 0.1, 0.0], (15, 1)))
    with pytest.raises(HumanoidError, match="chain"):
        humanoid.find_roles(chain)


def test_quadruped_is_refused_even_with_human_names():
    """The mannequin on all fours: trunk level, arms down to the ground."""
    skeleton = mannequin.skeleton()
    offsets = np.array(skeleton.offsets)
    for name in ("Spine", "Chest", "UpperChest", "Neck", "Head"):
        offsets[skeleton.index(name)] = np.linalg.norm(offsets[skeleton.index(name)]) * np.array([0.0, 0.0, 1.0])
    for side in ("Left", "Right"):
        for part, length in (("LowerArm", 0.4), ("Hand", 0.45)):
            offsets[skeleton.index(side + part)] = [0.0, -length, 0.0]
    figure = Skeleton(skeleton.names, skeleton.parents, offsets)
    with pytest.raises(HumanoidError, match="quadruped"):
        humanoid.find_roles(figure)
