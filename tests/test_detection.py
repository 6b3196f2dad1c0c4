"""The table of expected answers for every skeleton of the real files, and what decides them: names, shape, frames."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from conftest import shared_data, shared_files
from figures import Rig, build, nameless, shuffled, turned_at_random
from footplant import humanoid, rotation
from footplant.errors import FormatError, HumanoidError
from footplant.feet.floor import find_floor, put_floor_at
from footplant.humanoid.names import read
from footplant.io import find_format, holds_markers
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion
from footplant.samples import mannequin
from footplant.skeleton import Skeleton
from test_humanoid_real import NOT_HUMAN, TABLES, expected
from test_humanoid_real import load as load_again
from thorough import thorough

_ARM = "clavicle=@Shoulder upper_arm=@Arm lower_arm=@ForeArm hand=@Hand"
_LEG = "upper_leg=@UpLeg lower_leg=@Leg foot=@Foot toes=@ToeBase"
_LEFT = "Left Right"
_MIXAMO = (
    "hips=mixamorig:Hips head=mixamorig:Head spine=mixamorig:Spine neck=mixamorig:Neck",
    f"{_ARM} {_LEG}".replace("@", "mixamorig:@"), _LEFT,
)  # fmt: skip
_BANDAI = (
    "hips=Hips head=Head spine=Spine neck=Neck",
    "clavicle=Shoulder_@ upper_arm=UpperArm_@ lower_arm=LowerArm_@ hand=Hand_@ upper_leg=UpperLeg_@ "
    "lower_leg=LowerLeg_@ foot=Foot_@ toes=Toes_@", "L R",
)  # fmt: skip
_ACCLAIM = (
    "hips=root head=head spine=lowerback neck=lowerneck",
    "clavicle=@clavicle upper_arm=@humerus lower_arm=@radius hand=@hand upper_leg=@femur lower_leg=@tibia foot=@foot "
    "toes=@toes", "l r",
)  # fmt: skip
_SOMA = (
    "hips=Hips head=Head spine=Spine1 neck=Neck1",
    f"{_ARM} upper_leg=@Leg lower_leg=@Shin foot=@Foot toes=@ToeBase",
    _LEFT,
)
_DEEPMIMIC = (
    "hips=root head=neck spine=chest",
    "upper_arm=@_shoulder lower_arm=@_elbow hand=@_wrist upper_leg=@_hip lower_leg=@_knee foot=@_ankle", "left right",
)  # fmt: skip
_BIPED = (
    "hips=Bip001.Pelvis head=Bip001.Head spine=Bip001.Spine neck=Bip001.Neck",
    "clavicle=Bip001.@.Clavicle upper_arm=Bip001.@.UpperArm lower_arm=Bip001.@.Forearm hand=Bip001.@.Hand "
    "upper_leg=Bip001.@.Thigh lower_leg=Bip001.@.Calf foot=Bip001.@.Foot toes=Bip001.@.Toe0", "L R",
)  # fmt: skip
_PLAIN = ("hips=Hips head=Head spine=Spine neck=Neck", f"{_ARM} {_LEG}", _LEFT)
_OZZ = (
    "hips=Pelvis head=Head spine=Spine neck=Neck left_hand=Lefthand right_hand=RightHand",
    f"{_ARM} upper_leg=@UpLeg lower_leg=@Leg foot=@Foot toes=@FootThumb1".replace(" hand=@Hand", ""), _LEFT,
)  # fmt: skip
_HUMAN_IK = (
    "hips=Character1_Hips head=Character1_Head spine=Character1_Spine neck=Character1_Neck",
    f"{_ARM} {_LEG}".replace("@", "Character1_@"), _LEFT,
)  # fmt: skip
_SMPL = (
    "hips=pelvis head=head spine=spine1 neck=neck",
    "clavicle=@_collar upper_arm=@_shoulder lower_arm=@_elbow hand=@_wrist upper_leg=@_hip lower_leg=@_knee "
    "foot=@_ankle toes=@_foot", "left right",
)  # fmt: skip
_VRM = (
    "hips=hips head=head spine=spine neck=neck",
    "upper_arm=upper_arm.@ lower_arm=lower_arm.@ hand=hand.@ upper_leg=upper_leg.@ lower_leg=lower_leg.@ foot=foot.@",
    "L R",
)

TABLE: dict[str, tuple[str, float, tuple[str, str, str]]] = {
    "asf_amc/11_01.amc": ("y cmu", 1.69, _ACCLAIM),
    "asf_amc/35_01.amc": ("y cmu", 1.67, _ACCLAIM),
    "asf_amc/backflip.amc": ("y cmu", 1.50, _ACCLAIM),
    "asf_amc/charleston1.amc": ("y cmu", 1.68, _ACCLAIM),
    "bvh/bandai_nc/dataset-1_bow_masculinity_001.bvh": ("y cm", 1.60, _BANDAI),
    "bvh/bandai_nc/dataset-1_dash_feminine_001.bvh": ("y cm", 1.60, _BANDAI),
    "bvh/bandai_nc/dataset-1_run_giant_001.bvh": ("y cm", 1.60, _BANDAI),
    "bvh/bandai_nc/dataset-1_walk-left_chimpira_001.bvh": ("y cm", 1.60, _BANDAI),
    "constraints_npz/kimodo-soma-rp_04_ee_constraint/motion.npz": ("y m", 1.70, _SOMA),
    "deepmimic/humanoid3d_cartwheel.txt": ("y m", 1.62, _DEEPMIMIC),
    "deepmimic/humanoid3d_character.txt": ("y m", 1.62, _DEEPMIMIC),
    "deepmimic/humanoid3d_crawl.txt": ("y m", 1.62, _DEEPMIMIC),
    "deepmimic/humanoid3d_roll.txt": ("y m", 1.62, _DEEPMIMIC),
    "deepmimic/humanoid3d_spinkick.txt": ("y m", 1.62, _DEEPMIMIC),
    "deepmimic/humanoid3d_walk.txt": ("y m", 1.62, _DEEPMIMIC),
    "fbx/100avatars_001_Crimsom.fbx": ("y cm", 1.63, _MIXAMO),
    "fbx/Warrior.fbx": ("y cm", 0.00736, _BIPED),
    "fbx/archer/ArcherRi01.fbx": ("y m", 1.67, _BIPED),
    "fbx/ase_08_02_cmu.fbx": ("y cm", 25.8, ("hips=Hips head=Head spine=LowerBack neck=Neck", *_PLAIN[1:])),
    "fbx/bvhtoolbox_template.fbx": ("y cm", 1.85, _PLAIN),
    "fbx/ozz_pab_crossarms.fbx": ("y cm", 1.84, _OZZ),
    "fbx/ozz_pab_locomotions.fbx": ("y cm", 1.82, _OZZ),
    "fbx/ozz_pab_walk.fbx": ("y cm", 1.83, _OZZ),
    "fbx/ufbx_maya_human_ik_6100_ascii.fbx": ("y m", 1.75, _HUMAN_IK),
    "fbx/ufbx_maya_human_ik_7400_binary.fbx": ("y m", 1.75, _HUMAN_IK),
    "fbx/ufbx_maya_kenney_character_7700_binary.fbx": (
        "y cm", 3.79, (_PLAIN[0], _PLAIN[1].replace("ToeBase", "Toes"), _LEFT)),
    "gltf/babylon_mixamo_Catwalk_Walking.glb": ("y m", 0.80, _MIXAMO),
    "gltf/babylon_mixamo_Praying.glb": ("y m", 0.80, _MIXAMO),
    "isaaclab_npz/humanoid_walk.npz": ("z m", 1.67, (
        "hips=pelvis head=head spine=torso",
        "upper_arm=@_upper_arm lower_arm=@_lower_arm hand=@_hand upper_leg=@_thigh lower_leg=@_shin foot=@_foot",
        "left right")),
    "robots/motions/asap_g1_jump_forward_level3.pkl": ("z m", 1.48, _SMPL),
    "robots/motions/asap_g1_walk_level4.pkl": ("z m", 1.48, _SMPL),
    "robots/motions/ase_RL_Avatar_TurnLeft180_Motion.npy": ("z m", 1.67, (
        "hips=pelvis head=head spine=torso",
        "upper_arm=@_upper_arm lower_arm=@_lower_arm hand=@_hand upper_leg=@_thigh lower_leg=@_shin foot=@_foot",
        "left right")),
    "positions_terrain/climb_seq_1/mocap_climb_seq_1_joint_positions_f0-2422.npy": ("z m", 1.77, _PLAIN),
    "smpl_npz/pyroki_smpl_keypoints.npy": ("z m", 1.58, _SMPL),
    "smpl_npz/video_APT_level1_amass.npz": ("z m", 1.74, _SMPL),
    "smpl_npz/video_CR7_level1_filter_amass.npz": ("z m", 1.74, _SMPL),
    "smpl_npz/video_kick_level1_filter_amass.npz": ("z m", 1.74, _SMPL),
    "smpl_npz/video_squat_level1_filter_amass.npz": ("z m", 1.74, _SMPL),
    "smpl_npz/video_walk_level1_filter_amass.npz": ("z m", 1.74, _SMPL),
    "usd/soma_human_skinned.usd": ("y cm", 1.77, _SOMA),
    "usd/usdSkel_skeleton.usda": ("z cm", 1.62, (
        "hips=Hips head=Head spine=Torso neck=Neck",
        "clavicle=@Shldr upper_arm=@Arm lower_arm=@Elbow hand=@Hand upper_leg=@Leg lower_leg=@Knee foot=@Foot "
        "toes=@Toes", "L R")),
    "vrm/100avatars_001_Crimsom.vrm": (
        "y m", 1.64, (*(part.replace("mixamorig", "vis_char_001_fbx:mixamorig") for part in _MIXAMO[:2]), _LEFT)),
    "vrm/100avatars_038_Kate.vrm": ("y m", 1.73, _MIXAMO),
    "vrm/100avatars_045_DinoKid.vrm": (
        "y m", 1.23, (*(part.replace("mixamorig", "vis_char_045:mixamorig") for part in _MIXAMO[:2]), _LEFT)),
    "vrm/Godette_vrm0.vrm": ("y m", 1.49, (
        "hips=pelvis_Armature head=head_Armature spine=tummy_Armature neck=neck_Armature",
        "clavicle=shoulder.@_Armature upper_arm=upper_arm.@_Armature lower_arm=lowerarm.@_Armature "
        "hand=hand.@_Armature upper_leg=thigh.@_Armature lower_leg=shin.@_Armature foot=foot.@_Armature "
        "toes=toes.@_Armature", "l r")),
    "vrm/basic_armature_vrm0.vrm": ("y m", 1.73, _VRM),
    "vrm/basic_armature_vrm1.vrm": ("y m", 1.73, _VRM),
    "vrm/multi_root_armature_vrm1.vrm": ("y m", 1.79, _VRM),
    "vrma/idle_loop.vrma": ("y m", 1.77, (
        "hips=root head=ENDSITE spine=torso_2 neck=neck_1",
        "clavicle=@_shoulder upper_arm=@_up_arm lower_arm=@_low_arm hand=@_hand upper_leg=@_up_leg "
        "lower_leg=@_low_leg foot=@_foot toes=@_toes", "l r")),
    "vrma/three-vrm_test.vrma": ("y m", 1.73, (
        "hips=hips head=head spine=spine neck=neck",
        "clavicle=@Shoulder upper_arm=@UpperArm lower_arm=@LowerArm hand=@Hand upper_leg=@UpperLeg "
        "lower_leg=@LowerLeg foot=@Foot toes=@Toes", "left right")),
}  # fmt: skip
"""File → up axis and unit; height, metres; roles of the middle, of one side ("@" the side's word), the two words. A
"." in a biped's name stands for a blank. Files of `test_humanoid_real.TABLES` have their rows there."""
NO_HUMANS = {
    *NOT_HUMAN,
    "bvh/other/dog_idle.bvh", "fbx/assimp_animation_with_skeleton.fbx", "fbx/assimp_huesitos.fbx",
    "fbx/ufbx_casegen_rotation_order_7500_ascii.fbx", "fbx/ufbx_maya_axes_anim_7700_ascii.fbx",
    "fbx/ufbx_maya_rotation_order_7500_ascii.fbx", "gltf/momentum_skeleton_non_joint_root.glb",
    "robots/motions/holosoma_g1_sub3_largebox_003_mj.npz", "usd/momentum_simple_character.usda",
    "usd/usdSkel_skinnedArm.usda",
}  # fmt: skip
OTHERWISE = {
    "smpl_npz/pyroki_heightmap.npy", "smpl_npz/pyroki_left_foot_contact.npy", "smpl_npz/pyroki_right_foot_contact.npy",
    "gltf/CesiumMan_draco/CesiumMan.gltf",
}  # fmt: skip
"""Files that hold no motion, or the same character as another."""


def roles_of(row: tuple[str, str, str]) -> dict[str, str]:
    """Role → joint name."""
    middle, side, words = row
    roles = dict(pair.split("=") for pair in middle.split())
    for name, word in zip(("left", "right"), words.split()):
        roles |= {
            f"{name}_{role}": joint for role, joint in (pair.split("=") for pair in side.replace("@", word).split())
        }
    return {role: joint.replace(".", " ") if joint.startswith("Bip001.") else joint for role, joint in roles.items()}


@cache
def load(file: str):
    return footplant.load(shared_data(*file.split("/")))


@pytest.mark.parametrize("file", TABLE)
@pytest.mark.named("{file}")
def test_expected_answers(shared, file):
    axes, height, row = TABLE[file]
    clip = load(file)
    roles, names = clip.character.require_roles(), clip.character.skeleton.names
    wanted = roles_of(row)
    assert {role: names[roles[role]] for role in wanted} == wanted
    assert f"{clip.conversion.up} {clip.conversion.units}" == axes
    assert clip.character.height == pytest.approx(height, rel=0.01)
    told = any("--height 1.75" in note for note in clip.notes)
    assert told == (not 0.5 <= height <= 3.0)


@pytest.mark.parametrize("file", sorted(NO_HUMANS))
@pytest.mark.named("{file}")
def test_no_humans(shared, file):
    assert load(file).character.roles is None


def test_every_real_file_has_a_row(shared):
    """A new file needs a row here or in `test_humanoid_real`."""
    root = shared_data()
    known = {*TABLE, *TABLES, *NO_HUMANS, *OTHERWISE}
    found = [path for path in shared_files("**/*") if path.is_file() and path.suffix != ".asf"]
    found = [path for path in found if find_format(path) is not None and path.name != "MANIFEST.csv"]
    found = [path for path in found if not holds_markers(path)]
    names = {path.relative_to(root).as_posix() for path in found}
    if (root / "MANIFEST.csv").exists():
        assert {name for name in names - known if not name.startswith("bad/")} == set()


_MAIN = ["hips", "head"] + [
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("upper_leg", "lower_leg", "foot", "upper_arm", "lower_arm", "hand")
]


def test_nameless_skeletons(shared):
    """By shape, skin and frames alone, in another order of joints and rotated: at least 95 % of the main roles."""
    files = [file for file in (*TABLE, *TABLES) if "/cmu/" not in file and shared_data(*file.split("/")).exists()]
    seen, right, total = set(), 0, 0
    for file in [*files, *[file for file in TABLES if "/cmu/" in file][:8]][:: thorough(2, 1)]:
        if not shared_data(*file.split("/")).exists():
            continue
        clip = load_again(file) if file in TABLES else load(file)
        skeleton, skin = clip.motion.skeleton, clip.character.skin
        key = (skeleton.names, skeleton.offsets.tobytes())
        if key in seen:
            continue
        seen.add(key)
        table = (
            {role: names[0] for role, names in expected(file).items()} if file in TABLES else roles_of(TABLE[file][2])
        )
        other, place = shuffled(skeleton, 2)
        other, turn = turned_at_random(nameless(other.scaled(37.0)), 4)
        order = np.argsort(place)
        frames = Kinematics(clip.motion[:: max(1, len(clip.motion) // 100)]).positions[:, order]
        if skin is not None:
            skin = replace(
                skin, vertices=rotation.rotate(turn, 37.0 * skin.vertices), joints=place[skin.joints], normals=None,
                inverse_bind=skin.inverse_bind[order],
            )  # fmt: skip
        wanted = [role for role in _MAIN if role in table]
        total += len(wanted)
        try:
            roles = humanoid.find_roles(other, positions=rotation.rotate(turn, 37.0 * frames), skin=skin)
        except HumanoidError:
            continue
        places, height = other.rest_world[0], humanoid.standing_height(other, roles)
        for role in wanted:
            apart = places[roles.get(role) or 0] - places[place[skeleton.index(table[role])]]
            right += role in roles and np.linalg.norm(apart) < 0.03 * height
    if len(seen) > thorough(25, 50):
        assert right >= 0.95 * total, f"{right} of {total} roles of {len(seen)} skeletons"


class TestSchemes:
    """Names of well-known rigs are never overruled by shape."""

    RIG = Rig(
        "mixamorig:Hips", "mixamorig:Spine,mixamorig:Spine1,mixamorig:Spine2", "mixamorig:Head",
        " ".join(f"{pair};" for pair in f"{_ARM} {_LEG}".replace("@", "mixamorig:@").split()).rstrip(";"),
        "mixamorig:Neck",
    )  # fmt: skip

    @pytest.mark.parametrize("arm", [(1.5, 0.9, 2.2), (3.0, 0.3, 1.0), (0.3, 2.0, 0.4)])
    def test_odd_proportions(self, arm):
        """Clavicles as long as upper arms, and arms of any lengths: the names decide."""
        skeleton, wanted = build(self.RIG)
        offsets = np.array(skeleton.offsets)
        for side in ("Left", "Right"):
            for name, factor in zip(("Arm", "ForeArm", "Hand"), arm):
                offsets[skeleton.index(f"mixamorig:{side}{name}")] *= factor
        roles = humanoid.find_roles(replace(skeleton, offsets=offsets))
        assert {role: skeleton.names[roles[role]] for role in wanted} == {role: wanted[role][0] for role in wanted}
        assert "named as in Mixamo" in roles.reasons["left_upper_arm"]

    def test_a_shoulder_is_what_follows_it(self):
        for names, clavicle in (
            ("clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand", "LeftShoulder"),
            ("clavicle=@Collar; upper_arm=@Shoulder; lower_arm=@Elbow; hand=@Wrist", "LeftCollar"),
        ):
            legs = "upper_leg=@UpLeg; lower_leg=@Leg; foot=@Foot"
            skeleton, wanted = build(Rig("Hips", "Spine,Chest", "Head", f"{names}; {legs}", "Neck"))
            roles = humanoid.find_roles(skeleton)
            assert skeleton.names[roles["left_clavicle"]] == clavicle
            assert skeleton.names[roles["left_upper_arm"]] == wanted["left_upper_arm"][0]


@pytest.mark.parametrize(
    ("names", "side"),
    [
        ("Bassin Colonne Colonne1 Cou Tete Epaule_@ Bras_@ AvantBras_@ Main_@ Cuisse_@ Jambe_@ Pied_@", "G D"),
        ("Becken Wirbelsäule Brust Hals Kopf Schulter@ Oberarm@ Unterarm@ Hand@ Oberschenkel@ Unterschenkel@ Fuß@",
         "Links Rechts"),
        ("Cadera Columna Pecho Cuello Cabeza Clavicula@ Brazo@ Antebrazo@ Mano@ Muslo@ Pierna@ Pie@",
         "Izquierdo Derecho"),
        ("bacino colonna petto collo testa spalla_@ braccio_@ avambraccio_@ mano_@ coscia_@ gamba_@ piede_@", "sx dx"),
        ("骨盆 脊柱 胸 颈 头 @锁骨 @上臂 @前臂 @手 @大腿 @小腿 @脚", "左 右"),
        ("골반 척추 가슴 목 머리 @어깨 @상완 @하완 @손 @허벅지 @종아리 @발", "왼쪽 오른쪽"),
    ],
)  # fmt: skip
def test_bone_names_of_other_languages(names, side):
    hips, spine, chest, neck, head, *limbs = names.split()
    parts = ("clavicle", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")
    sides = tuple(side.split())
    skeleton, wanted = build(
        Rig(hips, f"{spine},{chest}", head, "; ".join(f"{a}={b}" for a, b in zip(parts, limbs)), neck, sides)
    )
    roles = humanoid.find_roles(skeleton)
    assert {role: tuple(skeleton.names[j] for j in roles.joints.get(role, ())) for role in wanted} == wanted
    assert roles.overall > 0.85
    for limb, part in zip(limbs, parts):
        reading = read(limb.replace("@", sides[0]))
        assert (reading.side, part in reading.parts) == ("left", True)


def test_english_words_stay_english():
    assert not read("main").parts
    assert not read("Pie_chart").parts


def _quadruped(prefix: str, neck: float) -> Skeleton:
    """A dog or a horse on its four legs: the trunk along z, front and hind limbs down."""
    names, parents, places = [], [], []

    def add(name: str, parent: str | None, place: tuple[float, float, float]) -> None:
        names.append(name)
        parents.append(-1 if parent is None else names.index(parent))
        places.append(place)

    add("Hips", None, (0.0, 1.0, -0.6))
    for n in range(1, 4):
        add(f"Spine{n}", "Hips" if n == 1 else f"Spine{n - 1}", (0.0, 1.0, -0.6 + 0.3 * n))
    add("Neck", "Spine3", (0.0, 1.0 + 0.4 * neck, 0.3 + 0.2 * neck))
    add("Head", "Neck", (0.0, 1.0 + 0.8 * neck, 0.3 + 0.4 * neck))
    add("Tail1", "Hips", (0.0, 0.95, -0.8))
    add("Tail2", "Tail1", (0.0, 0.7, -0.9))
    for side, x in (("Left", 0.15), ("Right", -0.15)):
        for limb, root, z in (("Leg", "Hips", -0.6), ("Arm", "Spine3", 0.3)):
            for n, y in enumerate((0.95, 0.55, 0.2, 0.02)):
                bend = (0.0, 0.05, -0.08, 0.04)[n]
                add(f"{prefix}{side}{limb}{n}", root if n == 0 else f"{prefix}{side}{limb}{n - 1}", (x, y, z + bend))
    world = np.array(places)
    offsets = np.array([world[j] - (world[p] if p >= 0 else 0.0) for j, p in enumerate(parents)])
    return Skeleton(tuple(names), np.array(parents), offsets)


@pytest.mark.parametrize("prefix", ["", "Horse_", "Dog_"])
@pytest.mark.parametrize("neck", [0.5, 1.5])
def test_dogs_and_horses_are_refused(prefix, neck):
    skeleton = _quadruped(prefix, neck)
    for one in (skeleton, nameless(skeleton), turned_at_random(nameless(skeleton), 3)[0]):
        with pytest.raises(HumanoidError, match=r"quadruped|proportions|expected a pair"):
            humanoid.find_roles(one, positions=Kinematics(rest_motion(one, 5)).positions)


def test_a_person_in_a_costume_is_no_animal():
    """Upright, with a tail and paws."""
    rig = Rig(
        "Hips", "Spine,Chest", "Head",
        "clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand; upper_leg=@UpLeg; lower_leg=@Leg; "
        "foot=@Foot",
        "Neck", extras=[("Tail", "Hips", (0, 0.9, -0.1)), ("Fox_Tail2", "Tail", (0, 0.7, -0.2)),
                        ("@Paw", "@Hand", (0.8, 1.42, 0))],
    )  # fmt: skip
    assert "left_foot" in humanoid.find_roles(build(rig)[0])


class TestHeight:
    def file(self, tmp_path, scale: float):
        skeleton = mannequin.skeleton().scaled(scale)
        path = tmp_path / "figure.glb"
        footplant.save(path, rest_motion(skeleton, 2))
        return path

    @pytest.mark.parametrize(("scale", "unit"), [(100.0, "cm"), (1000.0, "mm"), (39.37, "inch"), (0.2, None)])
    def test_a_note_names_the_unit_that_makes_it_human(self, tmp_path, scale, unit):
        path = self.file(tmp_path, scale)
        note = next(note for note in footplant.load(path).notes if "tall" in note)
        assert "--height 1.75" in note
        assert f"--units {unit}" in note if unit else "no common unit" in note
        assert footplant.load(path, height=1.75).character.height == pytest.approx(1.75)

    @pytest.mark.parametrize("scale", [0.35, 1.0, 1.6])
    def test_people_get_no_note(self, tmp_path, scale):
        assert not [note for note in footplant.load(self.file(tmp_path, scale)).notes if "tall" in note]

    def test_errors(self, tmp_path):
        path = self.file(tmp_path, 1.0)
        with pytest.raises(FormatError, match="units or a height"):
            footplant.load(path, height=1.7, units="cm")
        with pytest.raises(FormatError, match="height"):
            footplant.load(path, height=-1.0)

    @pytest.mark.named("gltf/RobotExpressive.glb", "gltf/Fox_quadruped.glb")
    def test_meshes_count(self, shared):
        assert footplant.load(shared_data("gltf/RobotExpressive.glb"), height=1.75).character.height == pytest.approx(
            1.75
        )
        with pytest.raises(FormatError, match="expected a humanoid"):
            footplant.load(shared_data("gltf/Fox_quadruped.glb"), height=1.75)


class TestFloor:
    def test_the_floor_is_found_and_moved(self):
        clip = footplant.load("sample:walk")
        high = replace(clip, motion=replace(clip.motion, root=clip.motion.root + [0.0, 0.73, 0.0]))
        floor = find_floor(high)
        assert floor is not None
        assert floor.level == pytest.approx(0.73, abs=0.01)
        assert "foot contacts" in str(floor)
        moved, found = put_floor_at(high, 0.0)
        assert found == floor
        again = find_floor(moved)
        assert again is not None
        assert again.level == pytest.approx(0.0, abs=1e-3)
        assert np.allclose(moved.motion.root[:, [0, 2]], clip.motion.root[:, [0, 2]])

    def test_a_clip_without_feet_uses_its_lowest_joint(self):
        skeleton = Skeleton(("a", "b"), np.array([-1, 0]), np.array([[0.0, 2.0, 0.0], [0.0, -0.5, 0.0]]))
        clip = footplant.Clip(rest_motion(skeleton, 3), footplant.Character(skeleton))
        floor = find_floor(clip)
        assert floor is not None
        assert (floor.level, floor.evidence) == (1.5, "the lowest joint")

    @pytest.mark.parametrize("path", shared_files("bvh/bandai_nc/*.bvh"), ids=lambda path: path.stem)
    def test_files_like_bandai_namcos_stand_on_the_floor(self, path):
        clip = footplant.load(path)
        soles = [point for name, point in clip.character.contacts.items() if not name.endswith("palm")]
        assert abs(Kinematics(clip.motion).points(soles)[..., 1].min()) < 0.02
        moved, _ = put_floor_at(clip, 0.0)
        assert abs(Kinematics(moved.motion).points(soles)[..., 1].min()) < 0.025

    @pytest.mark.parametrize(("height", "lowered"), [(0.035, True), (0.2, False), (-0.05, False)])
    def test_soles_of_bare_feet_follow_the_toes_lowest_height(self, height, lowered):
        # arrange: a person without end sites whose toe joints come down to a height
        skeleton, _ = build(TestSchemes.RIG)
        bare = replace(skeleton, end_parents=np.zeros(0, int), end_offsets=np.zeros((0, 3)))
        roles = humanoid.find_roles(bare)
        scaled = bare.scaled(0.8 / humanoid.leg_length(bare, roles))
        character = humanoid.make_character(scaled, roles, name="bare")
        positions = np.array(scaled.rest_world[0])[None]
        toes = [roles["left_toes"], roles["right_toes"]]
        positions[..., 1] += height - positions[:, toes, 1].min()
        # act
        found = humanoid.lower_soles(character, positions)
        # assert
        same = all(found.contacts[name] == point for name, point in character.contacts.items())
        assert same != lowered
        if lowered:
            ball = found.contacts["left_ball"]
            assert np.linalg.norm(ball.offset) == pytest.approx(height, abs=2e-3)
