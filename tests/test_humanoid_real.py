"""Roles, height, units and up axis of every skeleton among the real clips and characters."""

from __future__ import annotations

import json
import re
import shutil
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import footplant
from conftest import shared_data, shared_files
from figures import nameless, shuffled, turned_at_random
from footplant import humanoid, rotation
from footplant.errors import HumanoidError
from footplant.io import gltf
from footplant.kinematics import Kinematics

_ARM = "clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand"
_LEG = "upper_leg=@UpLeg; lower_leg=@Leg; foot=@Foot"
_MARKERS = (
    "clavicle=@Collar; upper_arm=@Shoulder; lower_arm=@Elbow; hand=@Wrist; upper_leg=@Hip; lower_leg=@Knee; foot=@Ankle"
)
_FINGERS = (
    "thumb=@HandThumb[1-3]; index=@HandIndex[1-3]; middle=@HandMiddle[1-3]; ring=@HandRing[1-3]; little=@HandPinky[1-3]"
)
_LEFT = ("Left", "Right")
_CMU = (
    "hips=Hips; spine=LowerBack,Spine,Spine1; neck=Neck,Neck1; head=Head",
    f"{_ARM}; index=@HandIndex1; {_LEG}; toes=@ToeBase".replace("=@Hand;", "=@FingerBase; lower_arm_twist=@Hand;"),
    _LEFT,
)  # fmt: skip
# the same skeleton as converted for other packages: its joint for all fingers has a name of its own
_CMU_FINGERS = (_CMU[0], _CMU[1].replace("index=@HandIndex1", "middle=#Fingers"), _LEFT)
_POSER = (
    "hips=hip; spine=abdomen,chest; neck=neck; head=head",
    "eye=%Eye; clavicle=@Collar; upper_arm=@Shldr; lower_arm=@ForeArm; hand=@Hand; thumb=@Thumb[1-2]; "
    "index=@Index[1-2]; middle=@Mid[1-2]; ring=@Ring[1-2]; little=@Pinky[1-2]; "
    "upper_leg=@Thigh; lower_leg=@Shin; foot=@Foot",
    ("l", "r"),
)  # fmt: skip
_FAIR = (
    "hips=Hips; spine=Spine,Spine[1-3]; neck=Neck; head=Head",
    f"{_ARM}; thumb=@HandThumb1; {_LEG}; toes=@ToeBase",
    _LEFT,
)
_MVN = ("hips=Hips; spine=Chest,Chest[2-4]; neck=Neck; head=Head", f"{_MARKERS}; toes=@Toe", _LEFT)
_MAKEHUMAN = (
    "hips=root; spine=spine05,spine04,spine03,spine02,spine01; neck=neck0[1-3]; head=head; jaw=jaw",
    "eye=eye.@; clavicle=clavicle.@; upper_arm=upperarm01.@; lower_arm=lowerarm01.@; hand=wrist.@; "
    "thumb=finger1-[1-3].@; index=finger2-[1-3].@; middle=finger3-[1-3].@; ring=finger4-[1-3].@; "
    "little=finger5-[1-3].@; upper_leg=upperleg01.@; lower_leg=lowerleg01.@; foot=foot.@; toes=toe1-1.@; "
    "upper_arm_twist=upperarm02.@; lower_arm_twist=lowerarm02.@; "
    "upper_leg_twist=upperleg02.@; lower_leg_twist=lowerleg02.@",
    ("L", "R"),
)  # fmt: skip
_CESIUM = (
    "hips=Skeleton_torso_joint_1; spine=Skeleton_torso_joint_2,torso_joint_3; neck=Skeleton_neck_joint_1; "
    "head=Skeleton_neck_joint_2; left_upper_arm=Skeleton_arm_joint_L__4_; left_lower_arm=Skeleton_arm_joint_L__3_; "
    "left_hand=Skeleton_arm_joint_L__2_; right_upper_arm=Skeleton_arm_joint_R; "
    "right_lower_arm=Skeleton_arm_joint_R__2_; right_hand=Skeleton_arm_joint_R__3_",
    "upper_leg=leg_joint_@_1; lower_leg=leg_joint_@_2; foot=leg_joint_@_3; toes=leg_joint_@_5", ("L", "R"),
)  # fmt: skip

TABLES = {
    "bvh/other/axisneuron_2156f.bvh": (
        "hips=Hips; spine=Spine,Spine[1-3]; neck=Neck; head=Head", f"{_ARM}; {_FINGERS}; {_LEG}", _LEFT),
    "bvh/other/boxing_toes.bvh": ("hips=Hips; spine=Ab,Chest; neck=Neck; head=Head", f"{_MARKERS}; toes=@Toes", _LEFT),
    "bvh/other/daz_cmu_10_03.bvh": _POSER,
    "bvh/other/fair1_dab.bvh": _FAIR,
    "bvh/other/fair1_wave_hello.bvh": _FAIR,
    "bvh/other/fair1_zombie.bvh": _FAIR,
    "bvh/other/fairmotion_pfnn_hierarchy_metres.bvh": _CMU,
    "bvh/other/freebvh_mixamo_names.bvh": (
        "hips=mixamorig:Hips; spine=mixamorig:Spine,mixamorig:Spine[1-2]; neck=mixamorig:Neck; head=mixamorig:Head",
        f"eye=@Eye; {_ARM}; {_FINGERS}; {_LEG}; toes=@ToeBase".replace("@", "mixamorig:@"), _LEFT),
    "bvh/other/imusim_16_15.bvh": (
        "hips=root; spine=lowerback,upperback,thorax; neck=lowerneck,upperneck; head=head",
        "clavicle=@clavicle; upper_arm=@humerus; lower_arm=@radius; lower_arm_twist=@wrist; hand=@hand; "
        "middle=@fingers; upper_leg=@femur; lower_leg=@tibia; foot=@foot; toes=@toes", ("l", "r")),
    "bvh/other/makehuman_face_poseunits.bvh": _MAKEHUMAN,
    "bvh/other/makehuman_tpose.bvh": _MAKEHUMAN,
    "bvh/other/makehuman_zombieWalk1.bvh": (
        "hips=Root; spine=Spine[1-3]; neck=Neck; head=Head; jaw=Jaw",
        "eye=Eye_@; clavicle=Clavicle_@; upper_arm=UpArm_@; lower_arm=LoArm_@; hand=Hand_@; thumb=Thumb[1-3]_@; "
        "index=Index[1-3]_@; middle=Middle[1-3]_@; ring=Ring[1-3]_@; little=Pinky[1-3]_@; upper_leg=UpLeg_@; "
        "lower_leg=LoLeg_@; foot=Foot_@; toes=Toe_@", ("L", "R")),
    "bvh/other/mocapbank.bvh": ("hips=Hips; spine=Chest,Chest2; neck=Neck; head=Head", _MARKERS, _LEFT),
    "bvh/other/mocopi_jump.bvh": (
        "hips=root; spine=torso_[1-7]; neck=neck_[1-2]; head=head",
        "clavicle=@_shoulder; upper_arm=@_up_arm; lower_arm=@_low_arm; hand=@_hand; upper_leg=@_up_leg; "
        "lower_leg=@_low_leg; foot=@_foot; toes=@_toes", ("l", "r")),
    "bvh/other/momask_template_metres.bvh": (
        "hips=Hips; spine=Spine,Spine[1-2]; neck=Neck; head=Head", f"{_ARM}; {_LEG}; toes=@Toe", _LEFT),
    "bvh/other/mvn_40fps_A.bvh": _MVN,
    "bvh/other/npybvh_example.bvh": _CMU,
    "bvh/other/pybvh_test1_zup_mixed.bvh": (
        "hips=Hips; spine=Spine,Spine[1-3]; neck=Neck,Neck1; head=Head", f"{_ARM}; {_LEG}; toes=@ToeBase", _LEFT),
    "bvh/other/pybvh_test2.bvh": _MVN,
    "bvh/other/pymo_AV_8Walk_Meredith.bvh": (
        "hips=Hips; spine=Spine; head=Head", f"{_ARM}; thumb=@HandThumb1; {_LEG}; toes=@ToeBase", _LEFT),
    "bvh/other/rokoko_jesse_dance.bvh": (
        "hips=Hips; spine=Spine,Spine[1-2]; neck=Neck; head=Head", f"{_ARM}; {_FINGERS}; {_LEG}; toes=@ToeBase", _LEFT),
    "bvh/other/soma_zero_frame0.bvh": (
        "hips=Hips; spine=Spine[1-2],Chest; neck=Neck[1-2]; head=Head; jaw=Jaw",
        # the first joints of its fingers are the metacarpals
        f"eye=@Eye; {_ARM}; thumb=@HandThumb[1-3]; index=@HandIndex[2-4]; middle=@HandMiddle[2-4]; "
        "ring=@HandRing[2-4]; little=@HandPinky[2-4]; upper_leg=@Leg; lower_leg=@Shin; foot=@Foot; toes=@ToeBase",
        _LEFT),
    "bvh/other/three_pirouette.bvh": _POSER,
    "bvh/other/toolbox_walk01.bvh": ("hips=Hips; spine=Spine,Spine1; neck=Neck; head=Head", f"{_ARM}; {_LEG}", _LEFT),
    "bvh/other/video2bvh_cxk_mm_zup.bvh": (
        "hips=Hips; spine=LowerBack,Spine,Spine1; neck=Neck; head=Neck1", f"{_ARM}; {_LEG}", _LEFT),
    "gltf/CesiumMan.glb": _CESIUM,
    "gltf/CesiumMan_separate/CesiumMan.gltf": _CESIUM,
    "gltf/KayKit_Knight.glb": (
        "hips=hips; spine=spine,chest; head=head",
        "upper_arm=upperarm.@; lower_arm=lowerarm.@; hand=wrist.@; upper_leg=upperleg.@; lower_leg=lowerleg.@; "
        "foot=foot.@; toes=toes.@", ("l", "r")),
    # in these two the legs are children of Body, as is Hips; in one the thumbs are named for the wrong side
    "gltf/KnightCharacter/KnightCharacter.gltf": (
        "hips=Body; spine=Hips,Abdomen,Torso; neck=Neck; head=Head; "
        "left_thumb=Thumb.R,Thumb2.R; right_thumb=Thumb.L,Thumb2.L",
        "clavicle=Shoulder.@; upper_arm=UpperArm.@; lower_arm=LowerArm.@; hand=Palm.@; middle=MiddleHand.@,Fingers.@; "
        "upper_leg=UpperLeg.@; lower_leg=LowerLeg.@; foot=Foot.@", ("L", "R")),
    "gltf/RobotExpressive.glb": (
        "hips=Body; spine=Hips,Abdomen,Torso; neck=Neck; head=Head",
        "clavicle=Shoulder.@; upper_arm=UpperArm.@; lower_arm=LowerArm.@; hand=Palm2.@; thumb=Thumb.@,Thumb2.@; "
        "index=Index.@,Index2.@; middle=Middle[1-2].@; ring=Ring[1-2].@; upper_leg=UpperLeg.@; lower_leg=LowerLeg.@; "
        "foot=Foot.@", ("L", "R")),
    "gltf/RiggedFigure.glb": (
        "hips=torso_joint_1; spine=torso_joint_2,torso_joint_3; neck=neck_joint_1; head=neck_joint_2",
        "upper_arm=arm_joint_@_1; lower_arm=arm_joint_@_2; hand=arm_joint_@_3; upper_leg=leg_joint_@_1; "
        "lower_leg=leg_joint_@_2; foot=leg_joint_@_3; toes=leg_joint_@_5", ("L", "R")),
    "gltf/godot_mannequiny.glb": (
        "hips=pelvis; spine=spine_01,spine_02; neck=neck_01; head=head",
        "clavicle=clavicle.@; upper_arm=upperarm.@; lower_arm=lowerarm.@; hand=hand.@; thumb=thumb_0[1-3].@; "
        "index=index_0[1-3].@; middle=middle_0[1-3].@; ring=ring_0[1-3].@; upper_leg=thigh.@; lower_leg=calf.@; "
        "foot=foot.@; toes=ball.@", ("l", "r")),
    "gltf/momentum_test_24fps.glb": (
        "hips=b_root; spine=b_spine[0-3]; neck=b_neck0; head=b_head; jaw=b_jaw",
        "eye=b_@_eye; clavicle=b_@_shoulder; upper_arm=b_@_arm; lower_arm=b_@_forearm; hand=b_@_wrist; "
        "thumb=b_@_thumb[0-3]; index=b_@_index[1-3]; middle=b_@_middle[1-3]; ring=b_@_ring[1-3]; "
        "little=b_@_pinky[1-3]; upper_leg=b_@_upleg; lower_leg=b_@_leg; foot=b_@_talocrural; toes=b_@_ball; "
        "upper_arm_twist=p_@_arm_twist[0-4]; lower_arm_twist=p_@_forearm_twist[0-4],b_@_wrist_twist; "
        "upper_leg_twist=p_@_upleg_twist[0-4]; lower_leg_twist=p_@_leg_twist[0-4],b_@_foot_twist", ("l", "r")),
} | {
    f"bvh/cmu/{path.name}": _CMU_FINGERS if b"LFingers" in path.read_bytes()[:10_000] else _CMU
    for path in shared_files("bvh/cmu/*.bvh")
}  # fmt: skip
"""File → roles of the middle, roles of one side ("@" the side's word, "#" its first letter, "%" in small letters)."""

NOT_HUMAN = {
    "bvh/other/dog_walk_quadruped.bvh": "quadruped",
    "gltf/Fox_quadruped.glb": "quadruped",
    "gltf/Fox.gltf": "quadruped",
    "gltf/webxr_hand_left.glb": "hand",
    "gltf/webxr_hand_right.glb": "hand",
    "bvh/other/fairmotion_sinusoidal.bvh": "too few",
    "bvh/other/pybvh_frame_time_precision.bvh": "too few",
    "gltf/RiggedSimple.glb": "too few",
    "gltf/SimpleSkin_embedded.gltf": "too few",
    "gltf/momentum_blender_armature.glb": "too few",
}
UP = {"fair1": "z", "makehuman": "z", "pybvh_test1": "z", "video2bvh": "z"}
UNITS = {
    "fair1": "unknown", "makehuman": "dm", "pymo": "inch", "pybvh_test1": "inch", "momask": "m", "fairmotion_pfnn": "m",
    "npybvh": "cmu", "video2bvh": "mm",
}  # fmt: skip


def expand(text: str) -> tuple[str, ...]:
    """Names separated by commas; name[1-3] means three."""
    out = []
    for name in text.split(","):
        found = re.search(r"\[(\d)-(\d)\]", name)
        numbers = range(int(found[1]), int(found[2]) + 1) if found else [None]
        out += [name if number is None else name.replace(found[0], str(number)) for number in numbers]  # type: ignore[index]
    return tuple(out)


def expected(file: str) -> dict[str, tuple[str, ...]]:
    middle, side_table, words = TABLES[file]
    roles = {role: expand(names) for role, names in (pair.split("=", 1) for pair in middle.split("; "))}
    for side, word in zip(("left", "right"), words):
        for role, names in (pair.split("=", 1) for pair in side_table.split("; ")):
            names = names.replace("@", word).replace("#", word[0]).replace("%", side)
            roles[f"{side}_{role}"] = expand(names)
    return roles


@cache
def load(file: str):
    return footplant.load(shared_data(*file.split("/")))


def names_of(skeleton, roles):
    return {role: tuple(skeleton.names[joint] for joint in chain) for role, chain in roles.joints.items()}


@pytest.mark.parametrize("file", TABLES)
@pytest.mark.named("{file}")
def test_real_roles(shared, file):
    clip = load(file)
    roles = clip.character.require_roles()
    assert names_of(clip.motion.skeleton, roles) == expected(file)
    assert roles.overall > 0.6
    assert all(reason.strip() for reason in roles.reasons.values())


@pytest.mark.parametrize("file", [file for file in TABLES if file.startswith("bvh")])
@pytest.mark.named("{file}")
def test_real_measure(shared, file):
    clip = load(file)
    name = file.split("/")[-1]
    assert 1.2 < clip.character.height < 2.2
    assert clip.conversion.up == next((up for key, up in UP.items() if name.startswith(key)), "y")
    usual = "cmu" if "/cmu/" in file else "cm"
    assert clip.conversion.units == next((unit for key, unit in UNITS.items() if name.startswith(key)), usual)
    if clip.conversion.units == "unknown":
        assert any("1.7 m" in note for note in clip.notes)
        assert clip.character.height == pytest.approx(1.7)


@pytest.mark.parametrize("file", NOT_HUMAN)
@pytest.mark.named("{file}")
def test_not_human(shared, file):
    clip = load(file)
    assert clip.character.roles is None
    message = next(note for note in clip.notes if note.startswith("not a humanoid"))
    assert NOT_HUMAN[file] in message
    # naming joints helps only if there are enough of them
    assert ("TOML" in message) == (len(clip.character.skeleton) >= 10)
    assert ("--roles" in message) == (len(clip.character.skeleton) >= 10)


_SAMPLE = [
    "bvh/other/boxing_toes.bvh", "bvh/other/fair1_dab.bvh", "bvh/other/freebvh_mixamo_names.bvh",
    "bvh/other/imusim_16_15.bvh", "bvh/other/mocopi_jump.bvh", "bvh/other/mvn_40fps_A.bvh",
    "bvh/other/rokoko_jesse_dance.bvh", "bvh/other/three_pirouette.bvh", "bvh/other/toolbox_walk01.bvh",
    "bvh/other/soma_zero_frame0.bvh", "bvh/other/pybvh_test1_zup_mixed.bvh", "bvh/other/makehuman_zombieWalk1.bvh",
    "bvh/cmu/02_01.bvh", "bvh/cmu/111_03.bvh", "gltf/CesiumMan.glb", "gltf/KayKit_Knight.glb",
    "gltf/godot_mannequiny.glb", "gltf/RiggedFigure.glb",
]  # fmt: skip
_MAIN = ["hips", "head"] + [
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("upper_leg", "lower_leg", "foot", "upper_arm", "lower_arm", "hand")
]


@pytest.mark.parametrize("file", _SAMPLE)
@pytest.mark.named("{file}")
def test_real_skeletons_without_names(shared, file):
    """By shape alone, with the joints in another order and the skeleton rotated; frames of the motion help."""
    clip = load(file)
    table = expected(file)
    skeleton, place = shuffled(clip.motion.skeleton, 2)
    skeleton, turn = turned_at_random(nameless(skeleton.scaled(37.0)), 4)
    frames = clip.motion[:: max(1, len(clip.motion) // 100)]
    order = np.argsort(place)
    positions = rotation.rotate(turn, 37.0 * Kinematics(frames).positions[:, order])
    roles = humanoid.find_roles(skeleton, positions=positions)
    places = skeleton.rest_world[0]
    height = humanoid.standing_height(skeleton, roles)
    if "imusim" in file:
        # that its wrist is a bone of the forearm is told by its name only
        table |= {f"{side}_hand": table[f"{side}_lower_arm_twist"] for side in ("left", "right")}
    wanted = {role: places[place[clip.motion.skeleton.index(table[role][0])]] for role in _MAIN}
    wrong = [role for role in _MAIN if np.linalg.norm(places[roles[role]] - wanted[role]) > 0.03 * height]
    assert not wrong


@pytest.mark.parametrize("path", shared_files("vrm/*.vrm"), ids=lambda path: path.stem)
def test_vrm_truth(path: Path, tmp_path: Path):
    """Names and shape find the roles that a VRM file declares."""
    copy = tmp_path / "figure.glb"
    shutil.copy(path, copy)
    figure = max(gltf.load(copy), key=lambda figure: len(figure.skeleton))
    roles = humanoid.find_roles(figure.skeleton)
    found = names_of(figure.skeleton, roles)
    for role, name in _vrm_bones(path):
        assert name in found.get(role, ()), (role, name)


def _vrm_bones(path: Path) -> list[tuple[str, str]]:
    data = path.read_bytes()
    document = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    extension = document["extensions"]
    if "VRM" in extension:
        bones = {bone["bone"]: bone["node"] for bone in extension["VRM"]["humanoid"]["humanBones"]}
    else:
        bones = {bone: entry["node"] for bone, entry in extension["VRMC_vrm"]["humanoid"]["humanBones"].items()}
    parts = {
        "Shoulder": "clavicle", "UpperArm": "upper_arm", "LowerArm": "lower_arm", "Hand": "hand", "Eye": "eye",
        "UpperLeg": "upper_leg", "LowerLeg": "lower_leg", "Foot": "foot", "Toes": "toes",
    }  # fmt: skip
    out = []
    for bone, node in bones.items():
        side = next((side for side in ("left", "right") if bone.startswith(side)), "")
        rest = bone[len(side) :]
        finger = re.match("Thumb|Index|Middle|Ring|Little", rest) if side else None
        part = finger[0].lower() if finger else parts.get(rest, "spine" if rest in ("chest", "upperChest") else rest)
        out.append((f"{side}_{part}" if side else part, document["nodes"][node]["name"]))
    return out


@pytest.mark.named("gltf/Fox_quadruped.glb")
def test_a_quadruped_can_be_forced(shared):
    clip = load("gltf/Fox_quadruped.glb")
    skeleton = clip.motion.skeleton
    with pytest.raises(HumanoidError, match="quadruped"):
        humanoid.find_roles(skeleton)
    forced = {"hips": ("b_Hip_01",), "head": ("b_Head_05",), "left_foot": ("b_LeftFoot01_017",)}
    roles = humanoid.find_roles(skeleton, corrections=forced)
    assert names_of(skeleton, roles) == forced


@pytest.mark.named("gltf/KnightCharacter/KnightCharacter.gltf", "bvh/other/mocopi_jump.bvh")
def test_wrong_side_names_lower_the_confidence(shared):
    clip = load("gltf/KnightCharacter/KnightCharacter.gltf")
    roles = clip.character.require_roles()
    assert roles.confidence["left_thumb"] < 0.6 * roles.confidence["left_hand"]
    assert "other side" in roles.reasons["left_thumb"]
    crossed = humanoid.find_roles(replace(load("bvh/other/mocopi_jump.bvh").motion.skeleton, names=_crossed()))
    assert crossed.overall < 0.85
    assert "other way" in crossed.reasons["left_foot"]


def _crossed() -> tuple[str, ...]:
    names = load("bvh/other/mocopi_jump.bvh").motion.skeleton.names
    return tuple({"l_": "r_", "r_": "l_"}.get(name[:2], name[:2]) + name[2:] for name in names)
