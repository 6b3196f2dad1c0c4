"""Every format to every other: joint positions, timing and mesh weights are preserved."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from inspect import signature
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import footplant
from conftest import shared_files
from footplant import Clip, Kinematics
from footplant.io import FORMAT_FEATURES, formats
from footplant.skinning import linear_blend
from thorough import THOROUGH

FRAMES = 40
CLOSE = 1e-5
"""Metres. Largest error of a joint after two files."""
FIGURES = {
    "mannequin": ("sample:walk",),
    "cmu": ("bvh/cmu/*.bvh", "bvh/*/*.bvh"),
    "glb": ("gltf/godot_mannequiny.glb", "gltf/walk.glb"),
}
"""Character → candidate files; the first one present is used."""


def both_ways() -> dict[str, str]:
    """Return formats that read and write motions: name → extension."""
    modules = dict.fromkeys(formats().values())
    return {
        module.__name__.rpartition(".")[2]: module.extensions[0]
        for module in modules
        if hasattr(module, "load") and hasattr(module, "save")
    }


def module_of(name: str) -> ModuleType:
    return formats()[both_ways()[name]]


def need(name: str) -> None:
    """Skip if an optional library that the format needs is missing."""
    extra, library = getattr(module_of(name), "requires", (None, None))
    if library is not None and importlib.util.find_spec(library) is None:
        pytest.skip(f"footplant[{extra}] is not installed")


@cache
def original(figure: str) -> Clip:
    """Return the first forty frames of a character."""
    source, *_ = FIGURES[figure]
    if not source.startswith("sample:"):
        found = [path for pattern in FIGURES[figure] for path in shared_files(pattern)]
        if not found:
            pytest.skip("no real clips: neither shared/data beside the repository nor those of tests/real_clips.py")
        source = str(found[0])
    clip = footplant.load(source)
    return replace(clip, motion=clip.motion[:FRAMES], takes=(), others=())


def read_again(path: Path) -> Clip:
    """Load a file of our own: it is trusted, so no child process is needed."""
    options = signature(formats()[path.suffix].load).parameters
    return footplant.load(path, **({"isolated": False} if "isolated" in options else {}))


def moves_joints(clip: Clip, name: str) -> bool:
    """Return whether the format reports that it cannot preserve the joint positions of a clip."""
    target = module_of(name)
    fixed = clip.motion.offsets is not None and "moving bones" not in target.holds
    others = target.further_losses(clip) if hasattr(target, "further_losses") and "skin" not in target.holds else []
    return fixed or any("joints" in text and "the motion is unchanged" not in text for text in others)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return the clip that was saved and loaded; cached, because every second format starts from it."""
    folder = tmp_path_factory.mktemp("first")
    known: dict[tuple[str, str], Clip] = {}

    def read(figure: str, name: str) -> Clip:
        if (figure, name) not in known:
            path = folder / f"{figure}{both_ways()[name]}"
            footplant.save(path, original(figure))
            known[figure, name] = read_again(path)
        return known[figure, name]

    return read


def routes() -> list[tuple[str, str, str]]:
    """Return (figure, format, format): the mannequin by every route; others to and from their own format.

    A thorough run takes every character by every route.
    """
    own = {"cmu": "bvh", "glb": "gltf"}
    return [
        (figure, one, second)
        for figure in FIGURES
        for one in both_ways()
        for second in both_ways()
        if THOROUGH or own.get(figure) in (None, one, second)
    ]


@pytest.mark.parametrize(("figure", "one", "second"), routes())
def test_round_trips_between_formats(figure, one, second, first, tmp_path):
    need(one)
    need(second)
    before, between = original(figure), first(figure, one)
    # a format that holds only human bones, and reports it, changes the motion, which then is the one to preserve
    fewer = [name for name in (one, second) if moves_joints(before, name)]
    if fewer:
        before = first(figure, fewer[0])
    elif one == second:
        assert_alike(before, between, skin="skin" in module_of(one).holds)
    path = tmp_path / f"a{both_ways()[second]}"
    footplant.save(path, between)
    assert_alike(before, read_again(path), skin=all("skin" in module_of(name).holds for name in (one, second)))


def assert_alike(before: Clip, after: Clip, *, skin: bool) -> None:
    """Assert the same joints at the same positions and times, and the same mesh if both formats have one."""
    assert len(after.motion) == len(before.motion)
    assert after.motion.fps == pytest.approx(before.motion.fps, rel=1e-5)
    names = before.motion.skeleton.names
    shared = [name for name in after.motion.skeleton.names if name in names]
    assert len(shared) == len(names)
    ours = [before.motion.skeleton.index(name) for name in shared]
    theirs = [after.motion.skeleton.index(name) for name in shared]
    places, found = Kinematics(before.motion), Kinematics(after.motion)
    apart = np.linalg.norm(places.positions[:, ours] - found.positions[:, theirs], axis=-1)
    assert apart.max() < CLOSE, f"{shared[int(apart.max(axis=0).argmax())]} is {apart.max():.2g} m off"
    if not skin or before.character.skin is None:
        return
    mesh, again = before.character.skin, after.character.skin
    assert again is not None
    assert (len(again.vertices), len(again.faces)) == (len(mesh.vertices), len(mesh.faces))
    moved = linear_blend(mesh, Kinematics(before.motion[::13])) - linear_blend(again, Kinematics(after.motion[::13]))
    assert np.abs(moved).max() < 1e-4
    assert np.abs(dense(mesh, names, names) - dense(again, after.motion.skeleton.names, names)).max() < 1e-5


def dense(skin, names: tuple[str, ...], columns: tuple[str, ...]) -> np.ndarray:
    """Return weights (V, J) of every vertex by joint name."""
    out = np.zeros((len(skin.vertices), len(columns)))
    place = np.array([columns.index(name) if name in columns else -1 for name in names])
    for joints, weights in zip(skin.joints.T, skin.weights.T, strict=True):
        np.add.at(out, (np.arange(len(out)), place[joints]), weights)
    return out


def test_every_format_lists_what_it_holds():
    for extension, module in formats().items():
        assert module.holds <= set(FORMAT_FEATURES), extension
        assert hasattr(module, "save") or not module.holds, extension
        assert extension == extension.lower()
        assert Path(f"a{extension}").suffix == extension
