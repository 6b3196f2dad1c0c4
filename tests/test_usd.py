"""Reading USD: joints, takes, skins and units; damaged files; and what must never be opened."""

from __future__ import annotations

import json
import struct
import sys
import zipfile

import numpy as np
import pytest

import footplant
from conftest import shared_data, shared_files
from footplant import FormatError, Kinematics, rotation
from footplant.errors import MissingExtraError
from footplant.io import usd
from footplant.io.usd import package
from footplant.io.usd.pose import fold, split
from footplant.io.usd.timing import find_grid, frame_times
from usd_made import ARM, read, write

ROWS = "(1,0,0,0),(0,1,0,0),(0,0,1,0)"


def test_joints_names_units_and_takes(tmp_path):
    figure, motion = read(write(tmp_path))
    assert figure.name == "Model"
    assert figure.skeleton.names == ("Hip", "Knee", "Foot")
    assert figure.skeleton.parents.tolist() == [-1, 0, 1]
    assert (figure.scale, figure.up) == (0.01, "y")
    assert [(take.name, take.frames, take.fps) for take in figure.takes] == [("Anim", 3, 24.0)]
    np.testing.assert_allclose(figure.skeleton.offsets, [[10, 24, 30], [0, -2, 0], [0, -2, 0]])
    # the animation lists its joints in another order, and the frame between two samples is halfway
    half = rotation.from_axis_angle([1.0, 0, 0], np.pi / 4)
    np.testing.assert_allclose(motion.rotations[1, 1], half, atol=1e-6)
    np.testing.assert_allclose(motion.rotations[2, 0], rotation.from_axis_angle([0, 1.0, 0], np.pi / 2), atol=1e-6)
    np.testing.assert_allclose(motion.root, [[10, 24, 30]] * 3)


def test_the_child_process_reads_the_same(tmp_path):
    path = write(tmp_path)
    (alone,), (here,) = usd.load(path), usd.load(path, isolated=False)
    assert alone.skeleton.names == here.skeleton.names
    assert alone.takes == here.takes
    assert alone.notes == here.notes
    np.testing.assert_array_equal(alone.read_take(0).rotations, here.read_take(0).rotations)
    np.testing.assert_array_equal(alone.skin.vertices, here.skin.vertices)
    np.testing.assert_array_equal(alone.skin.inverse_bind, here.skin.inverse_bind)


def test_z_up_and_metres(tmp_path):
    text = ARM.replace('upAxis = "Y"', 'upAxis = "Z"').replace("metersPerUnit = 0.01", "metersPerUnit = 1")
    figure, _ = read(write(tmp_path, text))
    assert (figure.scale, figure.up) == (1.0, "z")


@pytest.mark.parametrize(("size", "scale"), [("(0,-200,0,1)", 0.01), ("(0,-2,0,1)", None)])
def test_unstated_units_are_centimetres_unless_the_character_is_tiny(tmp_path, size, scale):
    text = ARM.replace("    metersPerUnit = 0.01\n", "").replace("(0,-2,0,1)", size)
    text = text[: text.index("    def Mesh")] + "}\n"
    assert read(write(tmp_path, text))[0].scale == scale


def test_polygons_are_triangulated_and_left_handed_ones_flipped(tmp_path):
    figure, _ = read(write(tmp_path))
    faces = figure.skin.faces.tolist()
    assert faces == [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7], [4, 7, 0], [1, 2, 5]]
    flipped = ARM.replace("int[] faceVertexCounts", 'uniform token orientation = "leftHanded"\n int[] faceVertexCounts')
    turned = read(write(tmp_path, flipped))[0].skin.faces
    assert turned.tolist() == [face[::-1] for face in faces]


def test_the_mesh_is_in_its_bind_pose(tmp_path):
    figure, _ = read(write(tmp_path))
    np.testing.assert_allclose(figure.skin.vertices[0], [10 + 1.5, 20 + 4, 30 + 0.25])
    np.testing.assert_allclose(figure.skin.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(figure.skin.weights[1], [0.75, 0.25])


def test_vertex_normals_are_kept(tmp_path):
    normals = "normal3f[] normals = [(0,0,1), (0,0,1), (0,0,1), (0,0,1), (1,0,0), (1,0,0), (1,0,0), (1,0,0)]"
    text = ARM.replace("        int[] faceVertexCounts", f"        {normals}\n        int[] faceVertexCounts")
    np.testing.assert_allclose(read(write(tmp_path, text))[0].skin.normals[[0, 4]], [[0, 0, 1], [1, 0, 0]])


def test_several_roots_get_an_added_root(tmp_path):
    figure, motion = read(write(tmp_path, ARM.replace('"Hip/Knee/Foot"', '"Foot"')))
    assert figure.skeleton.names == ("root", "Hip", "Knee", "Foot")
    assert figure.skeleton.parents.tolist() == [-1, 0, 1, 0]
    np.testing.assert_allclose(Kinematics(motion).positions[0, 3], [10, 18, 30])


def test_joints_before_their_parents_are_sorted(tmp_path):
    text = ARM.replace('["Hip", "Hip/Knee", "Hip/Knee/Foot"]', '["Hip/Knee/Foot", "Hip/Knee", "Hip"]')
    figure, _ = read(write(tmp_path, text))
    assert figure.skeleton.names == ("Hip", "Knee", "Foot")


def test_duplicate_names_get_their_parents_prefix(tmp_path):
    text = ARM.replace('"Hip/Knee", "Hip/Knee/Foot"]', '"Hip/End", "Hip/Knee/End"]')
    figure, _ = read(write(tmp_path, text))
    assert figure.skeleton.names == ("Hip", "Hip_End", "Knee_End")
    assert any("share the last part" in note for note in figure.notes)


def test_joint_names_of_the_file_are_used(tmp_path):
    text = ARM.replace(
        "uniform matrix4d[] bind", 'uniform token[] jointNames = ["a b", "c:d", "é"]\n uniform matrix4d[] bind'
    )
    assert read(write(tmp_path, text))[0].skeleton.names == ("a b", "c:d", "é")


def test_without_rest_transforms_the_bind_pose_is_the_rest_pose(tmp_path):
    start, end = ARM.index("        uniform matrix4d[] restTransforms"), ARM.index("        rel skel:animationSource")
    figure, motion = read(write(tmp_path, ARM[:start] + ARM[end:]))
    np.testing.assert_allclose(figure.skeleton.offsets, [[10, 24, 30], [0, -2, 0], [0, -2, 0]])
    np.testing.assert_allclose(Kinematics(motion).positions[0, 2], [10, 20, 30])


def test_a_mesh_bound_in_another_pose_gives_the_skeleton_its_pose(tmp_path):
    text = ARM.replace("(0,2,0,1)),", "(1,2,0,1)),", 1)
    figure, motion = read(write(tmp_path, text))
    np.testing.assert_allclose(figure.skeleton.offsets[1], [1, -2, 0])
    assert any("bind pose differs" in note for note in figure.notes)
    np.testing.assert_allclose(motion.skeleton.offsets[1], [0, -2, 0])
    still = text.replace("        rel skel:animationSource = </Model/Anim>\n", "").replace("SkelAnimation", "Scope")
    figure, motion = read(write(tmp_path, still))
    assert [take.name for take in figure.takes] == ["rest"]
    np.testing.assert_allclose(motion.skeleton.offsets[1], [0, -2, 0])


def test_an_unbound_animation_is_a_further_take(tmp_path):
    other = '    def SkelAnimation "Other"\n    {\n        uniform token[] joints = ["Hip"]\n'
    other += "        quatf[] rotations = [(0,1,0,0)]\n    }\n"
    figure, motion = read(write(tmp_path, ARM.replace("    def Mesh", other + "    def Mesh")), take=1)
    assert [take.name for take in figure.takes] == ["Anim", "Other"]
    assert len(motion) == 1
    np.testing.assert_allclose(np.abs(motion.rotations[0, 0]), [0, 1, 0, 0])
    assert any("translations" in note for note in figure.take_notes(1))


def test_an_animation_without_skeleton_makes_its_own(tmp_path):
    text = '#usda 1.0\ndef SkelAnimation "Clip"\n{\n    uniform token[] joints = ["a", "a/b"]\n'
    text += "    float3[] translations = [(0,1,0), (0,0,2)]\n    quatf[] rotations = [(1,0,0,0), (0,1,0,0)]\n}\n"
    figure, motion = read(write(tmp_path, text))
    assert figure.skeleton.names == ("a", "b")
    np.testing.assert_allclose(figure.skeleton.offsets, [[0, 1, 0], [0, 0, 2]])
    np.testing.assert_allclose(motion.rotations[0, 1], [0, 1, 0, 0])


def test_moving_bones_and_animated_scale(tmp_path):
    moving = ARM.replace(
        "float3[] translations = [(0,-2,0), (0,4,0)]",
        "float3[] translations.timeSamples = {1: [(0,-2,0), (0,4,0)], 3: [(0,-3,0), (1,4,0)]}",
    )
    _, motion = read(write(tmp_path, moving))
    assert motion.offsets is not None
    np.testing.assert_allclose(motion.offsets[:, 1, 1], [-2, -2.5, -3])
    scaled = ARM.replace(
        "half3[] scales = [(1,1,1), (1,1,1)]",
        "half3[] scales.timeSamples = {1: [(1,1,1), (1,1,1)], 3: [(1,1,1), (2,2,2)]}",
    )
    figure, motion = read(write(tmp_path, scaled))
    np.testing.assert_allclose(motion.offsets[:, 1, 1], [-2, -3, -4])
    assert any("scale is animated" in note for note in figure.take_notes(0))


def test_blend_shapes_are_noted(tmp_path):
    text = ARM.replace(
        "        rel skel:skeleton", '        uniform token[] skel:blendShapes = ["smile"]\n        rel skel:skeleton'
    )
    assert "1 blend shape was ignored" in read(write(tmp_path, text))[0].notes


def test_two_skeletons_are_two_characters(tmp_path):
    body = ARM[ARM.index("def SkelRoot") :]
    figures = usd.load(write(tmp_path, ARM + body.replace("Model", "Other")), isolated=False)
    assert [figure.name for figure in figures] == ["Model", "Other"]


@pytest.mark.parametrize(
    ("samples", "codes", "stated", "expected"),
    [
        ([1, 2, 3], 24.0, None, (24.0, 3)),
        ([1, 10], 24.0, None, (24.0, 10)),
        ([1, 3], 24.0, None, (24.0, 3)),
        (np.arange(0, 80, 4), 120.0, None, (30.0, 20)),
        ([0, 0.2, 0.4, 1.0], 24.0, None, (120.0, 6)),
        (np.arange(50) * 1000 / 30, 1000.0, None, (30.0, 50)),
        (np.round(np.arange(50) * 1000 / 30, 3), 1000.0, 30.0, (30.0, 50)),
        (np.arange(40) * 24 / 29.97, 24.0, 29.97, (29.97, 40)),
        (np.arange(40) * 24 / 29.97, 24.0, None, (29.97, 40)),
        ([0, 40, 80], 1000.0, None, (25.0, 3)),
        ([0, 1000, 3000], 1000.0, None, (24.0, 73)),
        ([0, 1, 2], 1.5, 1.5, (1.5, 3)),
        (np.arange(90), 800.0, 800.0, (800.0, 90)),
        ([5], 24.0, None, (24.0, 1)),
        ([], 30.0, None, (30.0, 1)),
    ],
)
def test_the_rate_of_samples(samples, codes, stated, expected):
    grid = find_grid(np.array(samples, float), codes, stated)
    assert grid.fps == pytest.approx(expected[0], rel=1e-9)
    assert grid.frames == expected[1]
    assert grid.even


def test_unevenly_spaced_samples_are_reported():
    samples = np.array([0.0, 1.0, 2.3, 3.1, 4.77])
    grid = find_grid(samples, 24.0, None)
    assert not grid.even
    times = frame_times(grid, samples)
    assert times[0] == 0.0
    assert times[-1] >= 4.77 - 1e-9


def test_splitting_and_folding_are_exact_for_any_matrices():
    rng = np.random.default_rng(3)
    parents = [-1, 0, 1, 0]
    matrices = np.tile(np.eye(4), (5, 4, 1, 1))
    matrices[:, :, :3] += rng.normal(size=(5, 4, 3, 4))
    base = np.tile(np.eye(4), (1, 1, 1, 1))
    base[:, :, :3] += rng.normal(size=(1, 1, 3, 4))
    folded = fold(parents, split(matrices), split(base))
    world, turns, places = [], [], []
    for joint, parent in enumerate(parents):
        above = base[:, 0] if parent < 0 else world[parent]
        world.append(above @ matrices[:, joint])
        offset, turn = folded.offsets[joint], folded.rotations[joint]
        if parent < 0:
            places.append(np.broadcast_to(offset, (5, 3)))
            turns.append(np.broadcast_to(turn, (5, 4)))
        else:
            places.append(places[parent] + rotation.rotate(turns[parent], offset))
            turns.append(rotation.multiply(turns[parent], turn))
        np.testing.assert_allclose(places[joint], world[joint][:, :3, 3], atol=1e-10)
        linear = rotation.to_matrix(turns[joint]) @ folded.scale_matrices[joint]
        np.testing.assert_allclose(linear, world[joint][:, :3, :3], atol=1e-10)


BAD = {
    "two few matrices": (ARM.replace(f"({ROWS},(0,0,0,1))\n", "\n"), "expected 3 matrices"),
    "one scale": (ARM.replace("half3[] scales = [(1,1,1), (1,1,1)]", "half3 scales = (1,1,1)"), "3 numbers each"),
    "joints that are numbers": (ARM.replace('token[] joints = ["Hip/Knee", "Hip"]', "int[] joints = [1]"),
                                "array of tokens"),
    "joint twice": (ARM.replace('"Hip/Knee/Foot"', '"Hip"'), "unique joint paths"),
    "too few rotations": (ARM.replace("1: [(1,0,0,0), (1,0,0,0)]", "1: [(1,0,0,0)]"), "expected 2 values"),
    "quaternion of zero": (ARM.replace("1: [(1,0,0,0), (1,0,0,0)]", "1: [(0,0,0,0), (1,0,0,0)]"), "unit quaternions"),
    "nan": (ARM.replace("[(0,-2,0), (0,4,0)]", "[(0,nan,0), (0,4,0)]"), "finite"),
    "infinite matrix": (ARM.replace("(0,-2,0,1)", "(0,inf,0,1)"), "finite"),
    "no skeleton": (ARM.replace("def Skeleton", "def Scope").replace("def SkelAnimation", "def Scope"), "got none"),
    "corners": (ARM.replace("[4, 5, 3]", "[4, 5, 4]"), "corners"),
    "corner out of range": (ARM.replace("[0, 1, 2, 3, 4", "[0, 1, 2, 300, 4"), "corners in 0..7"),
    "joint out of range": (ARM.replace("[0,1, 0,1, 0,1", "[0,1, 0,9, 0,1"), "joints in 0..2"),
    "too few weights": (ARM.replace("[1,0, 0.75,0.25,", "[0.75,0.25,"), "joints and weights"),
    "time codes": (ARM.replace("startTimeCode = 1", "timeCodesPerSecond = 0"), "timeCodesPerSecond"),
    "hours of frames": (ARM.replace("            3: [(0.7", "            1e9: [(0.7"), "frames"),
    "cut": (ARM[: len(ARM) // 2], "damage"),
    "no usd": ("hello", "damage"),
    "empty": ("", "empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_damage_is_one_format_error(tmp_path, name):
    text, words = BAD[name]
    path = write(tmp_path, text)
    with pytest.raises(FormatError, match=words) as found:
        read(path)
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value)
    assert "footplant-usd-" not in str(found.value)


def test_text_that_is_not_utf_8(tmp_path):
    path = tmp_path / "bytes.usda"
    for wrong in (b'joints = ["a", \xe6\x9e/b"]', b'joints = ["a", "a/\xe6\x9e"]'):
        path.write_bytes(b'#usda 1.0\ndef Skeleton "S"\n{\n uniform token[] ' + wrong + b"\n}\n")
        with pytest.raises(FormatError, match="UTF-8"):
            usd.load(path, isolated=False)


def test_no_message_of_usd_core_reaches_the_terminal(tmp_path, capfd):
    for text in (ARM[:900], ARM.replace("</Model/Anim>", "</Nowhere>"), ARM.replace('"Y"', '"Q"')):
        with pytest.raises(FormatError) if text == ARM[:900] else _nothing():
            usd.load(write(tmp_path, text), isolated=False)
    assert capfd.readouterr() == ("", "")


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_deeply_nested_text_does_not_crash_the_interpreter(tmp_path):
    deep = "#usda 1.0\n(\n customLayerData = {" + "dictionary a = {" * 300_000 + "}" * 300_000 + "}\n)\n"
    with pytest.raises(FormatError, match=r"usd-core ends with|damage|memory"):
        usd.load(write(tmp_path, deep))


def test_a_binary_file_that_claims_too_much_is_refused(tmp_path):
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(ARM)
    sound = tmp_path / "sound.usdc"
    layer.Export(str(sound))
    data = bytearray(sound.read_bytes())
    (table,) = struct.unpack_from("<Q", data, 16)
    (count,) = struct.unpack_from("<Q", data, table)
    starts = [struct.unpack_from("<Q", data, table + 8 + 32 * number + 16)[0] for number in range(count)]
    for number, start in enumerate(starts[:3]):
        wrong = bytearray(data)
        wrong[start : start + 8] = struct.pack("<Q", 1 << 33)
        path = tmp_path / f"claims{number}.usdc"
        path.write_bytes(wrong)
        with pytest.raises(FormatError):
            usd.load(path)


def test_truncated_binary_files_are_format_errors(tmp_path):
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(ARM)
    sound = tmp_path / "sound.usdc"
    layer.Export(str(sound))
    data = sound.read_bytes()
    for length in (4, 40, len(data) // 2, len(data) - 7):
        path = tmp_path / f"cut{length}.usdc"
        path.write_bytes(data[:length])
        with pytest.raises(FormatError):
            usd.load(path, isolated=False)


def _referring(target: str, arc: str = "references") -> str:
    return f'#usda 1.0\n(\n    metersPerUnit = 1\n)\ndef "Model" (\n    {arc} = @{target}@</Model>\n)\n{{\n}}\n'


def test_layers_in_the_files_folder_are_opened(tmp_path):
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts", ARM, "leg.usda")
    write(tmp_path, "#usda 1.0\n(\n    subLayers = [@parts/leg.usda@]\n)\n", "sub.usda")
    for arc, target in (("references", "parts/leg.usda"), ("payload", "./parts/leg.usda"), ("references", "sub.usda")):
        figure, _ = read(write(tmp_path, _referring(target, arc), "main.usda"))
        assert figure.skeleton.names == ("Hip", "Knee", "Foot")
        assert figure.scale == 1.0


@pytest.mark.parametrize("arc", ["references", "payload"])
@pytest.mark.parametrize("target", ["../leg.usda", "ABSOLUTE", "https://example.org/leg.usda", "link/leg.usda",
                                    "inside.usdz[leg.usda]", "anon:0x1234:leg.usda"])  # fmt: skip
def test_nothing_outside_the_folder_is_opened(tmp_path, target, arc):
    outside = write(tmp_path, ARM, "leg.usda")
    inside = tmp_path / "inside"
    inside.mkdir()
    try:
        (inside / "link").symlink_to(tmp_path)
    except OSError:
        pytest.skip("no symbolic links here")
    target = str(outside) if target == "ABSOLUTE" else target
    with pytest.raises(FormatError, match="not opened"):
        usd.load(write(inside, _referring(target, arc), "main.usda"), isolated=False)
    both = ARM.replace('def SkelRoot "Model" (\n', f'def SkelRoot "Model" (\n    {arc} = @{target}@</Model>\n')
    assert any("not opened" in note for note in read(write(inside, both, "both.usda"))[0].notes)
    under = ARM.replace("#usda 1.0\n(\n", f"#usda 1.0\n(\n    subLayers = [@{target}@]\n")
    assert any("not opened" in note for note in read(write(inside, under, "under.usda"))[0].notes)


def test_value_clips_are_not_opened(tmp_path):
    clips = "clips = {\n dictionary default = {\n asset[] assetPaths = [@./clip.usda@]\n }\n }\n"
    text = ARM.replace('    kind = "component"\n', f'    kind = "component"\n    {clips}')
    assert any("value clips" in note for note in read(write(tmp_path, text))[0].notes)


def test_cyclic_layers_terminate(tmp_path):
    write(tmp_path, _referring("main.usda").replace('def "Model"', 'def "Model"'), "other.usda")
    with pytest.raises(FormatError, match="got none"):
        usd.load(write(tmp_path, _referring("other.usda"), "main.usda"), isolated=False)


def test_references_that_multiply_are_stopped(tmp_path):
    lines = ["#usda 1.0"]
    for level in range(40):
        lines += [f'class "L{level}"', "{"]
        lines += [f'    def "{side}" (\n        references = </L{level + 1}>\n    )\n    {{\n    }}' for side in "abcd"]
        lines += ["}"]
    lines += ['class "L40"', "{", "}", 'def "Top" (', "    references = </L0>", ")", "{", "}"]
    with pytest.raises(FormatError):
        usd.load(write(tmp_path, "\n".join(lines)))


def test_packages_are_checked_before_they_are_unpacked(tmp_path):
    path = tmp_path / "made.usdz"
    path.write_bytes(package.pack([("made.usda", ARM.encode()), ("tex/a.png", b"picture")]))
    assert read(path)[0].skeleton.names == ("Hip", "Knee", "Foot")
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            with path.open("rb") as file:
                file.seek(entry.header_offset)
                _, name, extra = struct.unpack("<26sHH", file.read(30))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0
    for name, options in (
        ("../out.usda", {}),
        ("/out.usda", {}),
        ("made.usda", {"compress_type": zipfile.ZIP_DEFLATED}),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, ARM, **options)
        with pytest.raises(FormatError):
            usd.load(path, isolated=False)
    path.write_bytes(package.pack([("tex.png", b"picture")]))
    with pytest.raises(FormatError, match="starts with"):
        usd.load(path, isolated=False)
    nameless = bytearray(package.pack([("a.usda", ARM.encode())]))
    nameless[nameless.index(b"PK\x01\x02") + 28] = 0
    path.write_bytes(nameless)
    with pytest.raises(FormatError, match="package"):
        usd.load(path, isolated=False)
    path.write_bytes(package.pack([("made.usda", ARM.encode())])[:-30])
    with pytest.raises(FormatError, match="package"):
        usd.load(path, isolated=False)


def test_a_missing_usd_core_is_reported_with_the_install_command(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"footplant\[usd\]"):
        usd.load(write(tmp_path))


def test_usd_core_is_not_imported_with_the_format():
    import subprocess

    code = "import footplant.io.usd, sys, json; print(json.dumps([m for m in sys.modules if m.startswith('pxr')]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


TABLE = {
    "momentum_simple_character.usda": (8, 0, 30.0, "y", "m", False),
    "soma_human_skinned.usd": (78, 1, 24.0, "y", "cm", True),
    "usdSkel_skeleton.usda": (66, 3, 24.0, "z", "cm", True),
    "skintest-blender-4.1.usda": (2, 1, 30.0, "z", "m", False),
    "skintest.usda": (2, 1, 30.0, "z", "cm", False),
    "skintest.usdc": (2, 1, 30.0, "z", "cm", False),
    "usdSkel_skinnedArm.usda": (3, 10, 24.0, "y", "cm", False),
}


@pytest.mark.parametrize("path", shared_files("usd/*.usd*"), ids=lambda path: path.name)
def test_every_real_file_is_read(path):
    joints, frames, fps, up, units, human = TABLE[path.name]
    clip = footplant.load(path, isolated=False)
    assert len(clip.motion.skeleton) == joints
    assert len(clip.motion) == max(frames, 1)
    assert clip.motion.fps == fps
    assert (clip.conversion.up, clip.conversion.units) == (up, units)
    assert (clip.character.roles is not None) == human
    if human:
        assert 1.4 < clip.character.height < 2.0


@pytest.mark.named("usd/usdSkel_skeleton.usda")
def test_the_limbs_of_the_rig_of_usd_skel(shared):
    clip = footplant.load(shared_data("usd", "usdSkel_skeleton.usda"), isolated=False)
    names, roles = clip.motion.skeleton.names, clip.character.require_roles()
    expected = {
        "clavicle": "Shldr", "upper_arm": "Arm", "lower_arm": "Elbow", "hand": "Hand", "upper_leg": "Leg",
        "lower_leg": "Knee", "foot": "Foot", "toes": "Toes", "eye": "Eye",
    }  # fmt: skip
    for side in ("left", "right"):
        found = {role: names[roles[f"{side}_{role}"]] for role in expected}
        assert found == {role: side[0].upper() + name for role, name in expected.items()}
    fingers = {"thumb": "Thumb", "index": "Index", "middle": "Middle", "ring": "Ring", "little": "Pinky"}
    for role, name in fingers.items():
        assert names[roles[f"left_{role}"]] == f"LHand_{name}"
