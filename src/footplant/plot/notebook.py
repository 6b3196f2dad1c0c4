"""Motions, clips and results as HTML for notebooks, and as pages for the browser.

They are 3-D views that play. Where the package was built without them: a strip of poses beside an animation, as SVG.
Heels and balls of the feet are marked while they are planted.
"""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray

from footplant.clip import Clip
from footplant.contacts.detection import FEET, find_contacts
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.plot import player
from footplant.plot.view import View, choose_view
from footplant.result import Result
from footplant.skeleton import Character

TALL = 150.0
"""Height of the tallest pose, pixels."""
MOST_FRAMES = 48
"""Frames of the animation at most."""
LIMB, FAINT, PLANTED = "#2b6cb0", "#9aa5b1", "#d9480f"


def notebook_view(shown: Motion | Clip | Result) -> str:
    """Return what a notebook shows: a line of facts, and below it a view that plays, or else a picture."""
    clip = _clip_of(shown)
    if not len(clip.motion) or not player.is_available():
        return motion_html(clip.motion, clip.character, clip.name)
    return _title(clip.motion, clip.name) + player.notebook_frame(_player_page(shown, compact=True))


def page_view(shown: Motion | Clip | Result, ground: Ground | None = None) -> str:
    """Return a whole page for the browser that shows a motion, a clip or a result.

    ground: below a clip (default: level, as its footplants tell); results have their own.
    """
    clip = _clip_of(shown)
    if len(clip.motion) and player.is_available():
        return _player_page(shown, ground)
    body = motion_html(clip.motion, clip.character, clip.name)
    why = "" if player.is_available() else f"<p>{html.escape(player.NOT_BUILT)}</p>"
    head = f'<meta charset="utf-8"><title>{html.escape(clip.name)}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}{why}</body></html>\n'


def _player_page(shown: Motion | Clip | Result, ground: Ground | None = None, *, compact: bool = False) -> str:
    scene = player.result_scene(shown) if isinstance(shown, Result) else player.clip_scene(_clip_of(shown), ground)
    return player.motion_page([scene], scene.name, compact=compact)


def _clip_of(shown: Motion | Clip | Result) -> Clip:
    if isinstance(shown, Motion):
        return Clip(shown, Character(shown.skeleton, name="motion"), name="motion")
    return shown.clip if isinstance(shown, Result) else shown


def _title(motion: Motion, name: str) -> str:
    facts = f"{len(motion)} frames at {motion.fps:g} fps, {motion.duration:.2f} s, {len(motion.skeleton)} joints"
    return f"<div><b>{html.escape(name)}</b> · {facts}</div>"


def motion_html(motion: Motion, character: Character | None = None, name: str = "motion") -> str:
    """Return one small picture with a line of facts; the animation beside the strip plays in any browser."""
    title = _title(motion, name)
    if not len(motion):
        return title
    drawn = character or Character(motion.skeleton)
    kinematics = Kinematics(motion)
    view = choose_view(drawn, kinematics, lambda frames: kinematics.positions[frames])
    return title + _svg(kinematics, view, _planted(kinematics, drawn))


def _planted(kinematics: Kinematics, character: Character) -> NDArray:
    """Return world positions (F, P, 3) of heels and balls of the feet, metres; NaN while they are not planted."""
    names = [name for name in FEET if name in character.contacts]
    if not names or len(kinematics.motion) < 2:
        return np.zeros((len(kinematics.motion), 0, 3))
    contacts = find_contacts((kinematics.motion, character))
    places = kinematics.points([character.contacts[name] for name in names])
    return np.where(np.stack([contacts.mask(name) for name in names], axis=1)[..., None], places, np.nan)


def _svg(kinematics: Kinematics, view: View, planted: NDArray) -> str:
    bones = _bones(kinematics.motion)
    positions = np.concatenate([kinematics.positions, kinematics.ends], axis=1)
    strip = [view.page(positions[frame], pose) for pose, frame in enumerate(view.frames)]
    count = len(kinematics.frames)
    moments = np.unique(np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int))
    moving = view.page(positions[moments])
    marks = [view.page(planted[frame], pose) for pose, frame in enumerate(view.frames)]
    moving_marks = view.page(planted[moments])
    moving_marks[..., 0] -= moving[:, :1, 0]
    moving[..., 0] -= moving[:, :1, 0]
    points = np.concatenate([pose.reshape(-1, 2) for pose in strip])
    low, high = points[:, 1].min(), points[:, 1].max()
    scale = TALL / max(high - low, 1e-6)
    left, width = points[:, 0].min(), np.ptp(points[:, 0])
    side = float(np.abs(moving[..., 0]).max())
    whole, tall = scale * (width + 2.0 * side) + 40.0, TALL + 16.0
    origin = np.array([-left * scale + 10.0, high * scale + 8.0])
    animation_origin = np.array([(width + side) * scale + 30.0, high * scale + 8.0])

    def path(pose: NDArray, at: NDArray) -> str:
        page = at + scale * pose * [1.0, -1.0]
        return "".join(f"M{a[0]:.0f} {a[1]:.0f}L{b[0]:.0f} {b[1]:.0f}" for a, b in page[bones])

    def dots(places: NDArray, at: NDArray) -> str:
        page = at + scale * places[np.isfinite(places).all(axis=-1)] * [1.0, -1.0]
        return "".join(f"M{x:.0f} {y:.0f}L{x:.0f} {y:.0f}" for x, y in page) or "M0 0"

    still = "".join(path(pose, origin) for pose in strip)
    still_dots = "".join(dots(places, origin) for places in marks)
    moving_dots = ";".join(dots(places, animation_origin) for places in moving_marks)
    steps = ";".join(path(pose, animation_origin) for pose in moving)
    seconds = max(kinematics.motion.duration, 0.1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:.0f} {tall:.0f}" role="img" '
        f'style="max-width:100%;height:{tall:.0f}px" fill="none" stroke-linecap="round">'
        f'<path d="{still}" stroke="{FAINT}" stroke-width="2"/>'
        f'<path d="{still_dots}" stroke="{PLANTED}" stroke-width="5"/>'
        f'<path d="{path(moving[0], animation_origin)}" stroke="{LIMB}" stroke-width="3">'
        f'<animate attributeName="d" dur="{seconds:.2f}s" repeatCount="indefinite" calcMode="discrete" '
        f'values="{steps}"/></path>'
        f'<path d="{dots(moving_marks[0], animation_origin)}" stroke="{PLANTED}" stroke-width="6">'
        f'<animate attributeName="d" dur="{seconds:.2f}s" repeatCount="indefinite" calcMode="discrete" '
        f'values="{moving_dots}"/></path></svg>'
    )


def _bones(motion: Motion) -> NDArray:
    """Return the pairs (B, 2) of joints and end sites that are connected by a line; zero-length bones are left out."""
    skeleton = motion.skeleton
    tips = len(skeleton) + np.arange(len(skeleton.end_parents))
    pairs = np.stack(
        [
            np.concatenate([skeleton.parents[1:], skeleton.end_parents]),
            np.concatenate([np.arange(1, len(skeleton)), tips]),
        ],
        axis=1,
    )
    lengths = np.linalg.norm(np.concatenate([skeleton.offsets[1:], skeleton.end_offsets]), axis=1)
    return pairs[lengths > 1e-6]
