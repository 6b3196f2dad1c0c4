"""Safe at the door: what compiled code must never see is an error of ours, in one clear line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import footplant
from footplant import (
    ArgumentError,
    Clip,
    ConstraintError,
    FootplantError,
    FormatError,
    Kinematics,
    Motion,
    MotionError,
    Point,
    SkeletonError,
    humanoid,
    kernels,
    rotation,
    samples,
)
from footplant.batch import Batch
from footplant.blending.common_character import on_one_character
from footplant.blending.graph import build_graph
from footplant.constraints import (
    Above,
    AccelerationLimit,
    Apart,
    Area,
    AtLeast,
    Balance,
    CenterOfMass,
    ConeTwist,
    Constraint,
    Distance,
    Follow,
    Footplant,
    Hinge,
    JointLimits,
    LookAt,
    Orientation,
    Position,
    Relation,
    SamePlace,
    SpeedLimit,
    Touch,
    from_data,
    to_data,
)
from footplant.contacts.stillness import lead_in_frames
from footplant.curves import circle
from footplant.edits.path import bend
from footplant.edits.retarget import retarget
from footplant.errors import HumanoidError
from footplant.geometry import Plane
from footplant.humanoid import read_corrections
from footplant.io.constraint_files import read_constraints
from footplant.io.curve_files import load_curve
from footplant.io.scene_files import read_scene
from footplant.live.motion_set import load_set
from footplant.problem import Problem, Status, conflicts
from footplant.skeleton import MovingPoint
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods import method_of


@pytest.fixture(scope="module")
def walk() -> Clip:
    return samples.load("walk")


def test_a_joint_that_does_not_exist_is_not_looked_up_in_other_memory(walk):
    kinematics = Kinematics(walk.motion)
    for joint in (22, 200, 10_000_000):
        with pytest.raises(SkeletonError, match=rf"expected joints in 0\.\.21, got {joint}"):
            kinematics.points([Point(joint)])
        with pytest.raises(SkeletonError, match=rf"in 0\.\.21, got {joint}"):
            kinematics.position_jacobian(Point(joint))
        with pytest.raises(SkeletonError, match=rf"a joint in 0\.\.21, got {joint}"):
            kinematics.rotation_jacobian(joint)
        with pytest.raises(SkeletonError, match=f"got {joint}"):
            kinematics.at(np.array([0]), np.array([joint]), np.zeros((1, 3)))
    with pytest.raises(MotionError, match=r"expected rows in 0\.\."):
        kinematics.at(np.array([-1]), np.array([0]), np.zeros((1, 3)))
    with pytest.raises(SkeletonError, match="from 0 on, got -1"):
        Point(-1)
    with pytest.raises(SkeletonError, match="expected the joint of a point"):
        Point(1.5)  # type: ignore[arg-type]
    with pytest.raises(SkeletonError, match="expected the offset of a point to be finite"):
        Point(0, (0.0, np.nan, 0.0))


def test_neighbouring_rows_are_taken_as_they_are(walk):
    kinematics = Kinematics(walk.motion[:5])
    assert kinematics[np.array([3, 4])].frames.tolist() == [3, 4]
    assert kinematics[np.array([-2, -1])].frames.tolist() == [3, 4]
    with pytest.raises(MotionError, match=r"expected a frame in 0\.\.4, got 5"):
        kinematics[np.array([4, 5])]


def test_a_problem_on_a_motion_of_other_frames(walk):
    plant = Footplant(point=walk.character.contacts["left_ball"], place=[0, 0, 0], frames=range(90, 100))
    problem = Problem(walk.motion[:100], walk.character, (plant,))
    assert problem.on(walk.motion[100:200]).motion is not problem.motion
    with pytest.raises(MotionError, match=r"expected a motion of 100 frames at .* got 10 at"):
        problem.on(walk.motion[:10])
    with pytest.raises(MotionError, match="got 100 at"):
        problem.on(replace(walk.motion[:100], fps=7.0))
    with pytest.raises(ConstraintError, match=r"expected joints in 0\.\.21, got 99"):
        Problem(walk.motion, walk.character, (Position(point=Point(99), target=[0, 0, 0]),))


def test_a_leg_without_a_shin_is_refused_unless_its_roles_are_given(walk):
    offsets = np.array(walk.character.skeleton.offsets)
    offsets[walk.character.require_roles()["left_foot"]] = 0.0
    skeleton = replace(walk.character.skeleton, offsets=offsets)
    with pytest.raises(HumanoidError, match="expected a pair of legs"):
        humanoid.find_roles(skeleton)
    short = humanoid.make_character(skeleton, walk.character.require_roles(), name="short")
    motion = Motion(skeleton, walk.motion.root, walk.motion.rotations, walk.motion.fps)
    for clip, target in ((walk, short), (Clip(motion, short), walk.character)):
        assert np.isfinite(retarget(clip, target).motion.rotations).all()


DEEP = "a = " + 3000 * "[" + 3000 * "]"


@pytest.mark.parametrize("read", ["constraints", "scene", "roles", "curve", "set"])
def test_deeply_nested_toml(read, tmp_path, walk):
    file = tmp_path / "deep.toml"
    file.write_text(DEEP)
    readers = {
        "constraints": lambda: read_constraints(file, walk.character),
        "scene": lambda: read_scene(file),
        "roles": lambda: read_corrections(file),
        "curve": lambda: load_curve(str(file)),
        "set": lambda: load_set(file),
    }
    with pytest.raises(FormatError, match="nested too deep"):
        readers[read]()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_pipes_sockets_and_devices_are_no_inputs(tmp_path, walk):
    """Whoever opens a pipe that nobody writes to waits for ever."""
    folder = tmp_path / "clips"
    folder.mkdir()
    os.mkfifo(folder / "pipe.bvh")
    (folder / "folder.bvh").mkdir()
    (folder / "device.bvh").symlink_to("/dev/zero")
    (folder / "good.bvh").write_text("HIERARCHY")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket.bvh"))
        assert [entry.out for entry in Batch("repair", [str(folder)], tmp_path / "out").entries] == ["good.bvh"]
        for name, kind in (("pipe", "a pipe"), ("device", "a device"), ("socket", "a socket")):
            with pytest.raises(FormatError, match=f"expected a file, got {kind}"):
                _ = Batch("repair", [str(folder / f"{name}.bvh")], tmp_path / "out").entries
            with pytest.raises(FormatError, match=f"expected a file, got {kind}"):
                footplant.load(folder / f"{name}.bvh")
    os.mkfifo(folder / "pipe.toml")
    for read in (read_scene, read_corrections, load_set, lambda file: read_constraints(file, walk.character)):
        with pytest.raises(FormatError, match="expected a file, got a pipe"):
            read(folder / "pipe.toml")


@pytest.fixture(scope="module")
def led_in(walk) -> Clip:
    """A walk with 14 frames of a pose somewhere else before it: a capture that had not begun."""
    motion = walk.motion[:150]
    still = np.zeros(14, int)
    root = np.concatenate([motion.root[still] - [0.0, 0.9, 0.5], motion.root])
    rotations = np.concatenate([motion.rotations[still], motion.rotations])
    return replace(walk, motion=Motion(motion.skeleton, root, rotations, motion.fps))


def test_every_edit_sees_a_lead_in_of_several_frames(walk, led_in):
    assert lead_in_frames(walk) == 0
    assert lead_in_frames(led_in) == 14
    assert len(on_one_character([led_in])[0].motion) == 150
    assert build_graph([led_in]).durations[0] == pytest.approx(walk.motion[:150].duration)
    solution = bend(led_in, circle(3.0), from_start=True)
    assert any(note.startswith("the first 14 frames are a lead-in pose") for note in solution.report.notes)


# what a constraint is about


def own_constraints(character) -> dict[str, tuple[Constraint, tuple[int, ...]]]:
    """One of each kind, with the joints that it is about."""
    a, b = Point(3, (0.0, 0.1, 0.0)), Point(7)
    axis = (1.0, 0.0, 0.0)
    return {
        "position": (Position(point=a, target=[0, 1, 0]), (3,)),
        "follow": (Position(point=a, target=Follow(b)), (3,)),
        "orientation": (Orientation(joint=4, target=[1, 0, 0, 0]), (4,)),
        "distance": (Distance(point=a, other=b, value=0.3), (3, 7)),
        "at_least": (AtLeast(point=a, other=b, value=0.3), (3, 7)),
        "area": (Area(point=a, region=Plane()), (3,)),
        "above": (Above(point=a, ground=Plane()), (3,)),
        "look_at": (LookAt(point=a, direction=axis, target=[0, 1, 2]), (3,)),
        "center_of_mass": (CenterOfMass(character=character, target=[0, 1, 0]), ()),
        "balance": (Balance(character=character), ()),
        "apart": (Apart(character=character, part="left_hand", other="trunk"), (9, 0)),
        "touch": (Touch(character=character, part="left_hand", other=b), (9, 7)),
        "joint_limits": (JointLimits(character=character, joints=(5, 6)), (5, 6)),
        "cone_twist": (ConeTwist(character=character, joint=5, axis=axis, swing=1.0), (5,)),
        "hinge": (Hinge(character=character, joint=5, axis=axis), (5,)),
        "relation": (Relation(character=character, terms=((5, np.eye(3)), (6, -np.eye(3)))), (5, 6)),
        "footplant": (Footplant(point=a, place=[0, 0, 0], frames=range(3)), (3,)),
        "same_place": (SamePlace(point=a, pair=(0, 2)), (3,)),
        "speed_limit": (SpeedLimit(point=a, most=1.0), (3,)),
        "acceleration_limit": (AccelerationLimit(point=a, most=1.0), (3,)),
    }


def test_constraints_say_which_joints_they_are_about(walk):
    for name, (constraint, joints) in own_constraints(walk.character).items():
        assert constraint.joints == joints, name
    assert own_constraints(walk.character)["follow"][0].followed == (7,)
    every = JointLimits(character=walk.character)
    assert len(every.joints) > 10
    assert "joints" not in to_data([every], walk.character)[0]
    again = from_data(to_data([every], walk.character), walk.character)[0]
    assert again.joints == every.joints


@dataclass(frozen=True, eq=False, kw_only=True)
class Outsider(Constraint):
    """A kind that only has what it must have."""

    def residual(self, kinematics):
        return kinematics.positions[:, 4]

    def jacobian(self, kinematics):
        return kinematics.position_jacobian(Point(4))


def test_an_outsiders_constraint_is_about_the_end_of_its_chain(walk):
    assert Outsider().joints == ()
    assert Outsider(chain=(0, 1, 4)).joints == (4,)
    assert method_of("spacetime").solve(Problem(walk.motion[:8], walk.character, (Outsider(chain=(0, 1, 4)),))).motion


# constraints that contradict one another


def pins(character) -> dict[str, tuple[tuple[Constraint, ...], int]]:
    """Constraints, and how many pairs of them contradict one another."""
    hand = Point(character.require_roles()["left_hand"])
    joint = hand.joint
    here, there = np.array([0.3, 1.0, 0.1]), np.array([0.3, 1.2, 0.1])
    turn = rotation.exp(np.array([0.0, 0.5, 0.0]))
    first = Position(name="here", point=hand, target=here, frames=range(10, 20))
    return {
        "two places": ((first, Position(name="there", point=hand, target=there, frames=(19, 30))), 1),
        "one after another": ((first, Position(point=hand, target=there, frames=range(20, 30))), 0),
        "the same place": ((first, Position(point=hand, target=here + 0.0005, frames=range(30))), 0),
        "a soft one": ((first, Position(point=hand, target=there, hard=False)), 0),
        "another point": ((first, Position(point=Point(joint, (0.0, 0.2, 0.0)), target=there)), 0),
        "other axes": ((replace(first, axes=(1, 0, 1)), Position(point=hand, target=there, axes=(0, 1, 0))), 0),
        "a plant": ((first, Footplant(point=hand, place=there, frames=range(5, 12))), 1),
        "two turns": (
            (Orientation(joint=joint, target=[1, 0, 0, 0]), Orientation(joint=joint, target=turn, frames=(7,))), 1,
        ),
        "wide tolerances": ((first, Position(point=hand, target=there, tolerance=0.3)), 0),
        "a target that follows": ((first, Position(point=hand, target=Follow(Point(0)))), 0),
        "a moving point": ((first, Position(point=MovingPoint(joint, offsets=np.zeros((40, 3))), target=there)), 0),
    }  # fmt: skip


def test_plain_contradictions_are_found(walk):
    for name, (asked, count) in pins(walk.character).items():
        assert len(conflicts(Problem(walk.motion[:40], walk.character, asked))) == count, name


@pytest.mark.parametrize("method", ["hierarchical", "perframe", "spacetime"])
def test_a_contradiction_is_the_status_and_a_note(method, walk):
    asked, _ = pins(walk.character)["two places"]
    asked = (replace(asked[0], priority=1), asked[1])
    solution = method_of(method).solve(Problem(walk.motion[:40], walk.character, asked))
    assert solution.status is Status.CONFLICT
    said = "here and there contradict one another: their targets are 200.0 mm apart at frame 19"
    assert solution.report.notes.count(said) == 1
    assert solution.report.to_dict()["status"] == "conflict"
    met = method_of(method).solve(Problem(walk.motion[:40], walk.character, asked[:1]))
    assert met.status is Status.SOLVED


# other doors


def test_iks_refuse_joints_and_starts_that_do_not_fit(walk):
    motion = walk.motion[:4]
    wild = Position(point=Point(10_000_000), target=[0, 0, 0])
    for ik in (Hybrid(walk.character), GroupCcd(walk.character), Numeric()):
        assert isinstance(ik, Numeric) or "expected joints in 0..21" in (ik.refuses(wild) or "")
        with pytest.raises(ConstraintError, match=r"expected joints in 0\.\.21"):
            ik.solve(motion, (wild,))
        with pytest.raises(MotionError, match="initial poses"):
            ik.solve(motion, (), start=walk.motion[:3])
        with pytest.raises(MotionError, match="expected 4 frames from 0 on"):
            ik.solve(motion, (), frames=np.arange(3))


def test_arguments_are_value_errors_too():
    with pytest.raises(ValueError, match=r"expected quaternions of shape \(…, 4\), got \(20, 3\)") as caught:
        rotation.multiply(np.zeros((20, 3)), np.zeros((20, 4)))
    assert isinstance(caught.value, ArgumentError)
    assert issubclass(ArgumentError, FootplantError)


# the compiler that we stand on


def test_what_we_use_of_numbas_insides_is_there():
    """Private names of numba that `footplant.kernels` stands on: a release without them fails here."""
    from numba.core import caching, codegen, config, ir, lowering
    from numba.core.compiler import Flags
    from numba.core.cpu import CPUTargetOptions
    from numba.core.registry import CPUDispatcher
    from numba.np import arrayobj

    for name, wanted in {
        "CompileResultCacheImpl": ("_locator_classes", "check_cachable", "reduce", "rebuild"),
        "FunctionCache": ("_impl_class", "_index_key", "_load_overload", "load_overload", "save_overload"),
        "IndexDataCacheFile": ("load", "save", "_load_index", "_load_data"),
        "_CacheLocator": ("get_cache_path", "get_source_stamp", "get_disambiguator", "from_function"),
    }.items():
        found = getattr(caching, name, None)
        assert found is not None, f"numba.core.caching has no {name} any more: footplant.kernels keeps its cache by it"
        for attribute in wanted:
            assert hasattr(found, attribute), f"numba's {name} has no {attribute} any more: see footplant.kernels"
    assert hasattr(CPUTargetOptions, "_nrt"), "numba has no target option _nrt any more: see kernels.uncounted_jit"
    assert hasattr(config, "BOUNDSCHECK"), "numba's config has no BOUNDSCHECK any more: see kernels.environment_hash"
    assert hasattr(config, "OPT"), "numba's config has no OPT any more: see kernels.environment_hash"
    assert Flags().values() == {name: getattr(Flags(), name) for name in Flags.options}, "see kernels.compile_only"
    assert isinstance(Flags()._values, dict), "see kernels.compile_only"
    assert hasattr(ir.Inst, "_rec_list_vars"), "see kernels.compile_only"
    for owner, names in (
        (lowering.Lower, ("_find_singly_assigned_variable",)),
        (codegen.CPUCodeLibrary, ("add_ir_module", "_optimize_final_module")),
        (arrayobj, ("fix_integer_index", "getitem_array_tuple", "getitem_arraynd_intp", "load_item", "setitem_array",
                    "store_item")),
    ):  # fmt: skip
        for attribute in names:
            assert hasattr(owner, attribute), f"numba has no {attribute} any more: see kernels.lean_ir and dispatcher"
    dispatcher = CPUDispatcher(lambda x: x)
    wanted = ("_cache", "_cache_misses", "_compile_for_args", "_insert", "add_overload", "compile", "get_call_template",
              "overloads", "targetoptions")  # fmt: skip
    for attribute in wanted:
        assert hasattr(dispatcher, attribute), f"numba's dispatchers have no {attribute} any more: see kernels"
    for option in ("no_cpython_wrapper", "no_cfunc_wrapper"):
        assert hasattr(CPUTargetOptions, option), f"numba has no target option {option}: see kernels.dispatcher"


WILD_KERNEL = """
import numpy as np
from footplant.kernels import fk, cache_folder
print(cache_folder())
fk.carry(np.array([1000]), np.zeros((1, 3)), np.zeros((1, 2, 3)), np.zeros((1, 2, 4)), np.empty((1, 1, 3)))
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | environment)


def folder_name(done: subprocess.CompletedProcess) -> str:
    """The name of the cache folder that a process printed: it tells how kernels are compiled, not where they are."""
    return Path(done.stdout.strip()).name


def usual_name() -> str:
    usual = kernels.cache_folder()
    assert usual is not None
    return usual.name


def test_bounds_checks_on_demand(tmp_path):
    checked = run(WILD_KERNEL, FOOTPLANT_BOUNDSCHECK="1", FOOTPLANT_CACHE_DIR=str(tmp_path))
    assert "IndexError: index is out of bounds" in checked.stderr
    assert checked.returncode == 1
    assert folder_name(checked).startswith("kernels-")
    assert folder_name(checked) != usual_name()


def test_without_optimisation(tmp_path):
    """numba warns of unoptimised code that it cannot keep on disk, and asks the cache's locator for a file's name."""
    script = """
import warnings
warnings.simplefilter("error")
from footplant.kernels import fk, cache_folder
fk.forward(*fk.WARMUP["forward"]())
print(cache_folder())
"""
    done = run(script, NUMBA_OPT="0", FOOTPLANT_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert folder_name(done).startswith("kernels-")
    assert folder_name(done) != usual_name()
