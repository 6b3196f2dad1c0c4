"""The editor: a step of a drag, a stack solved again, how soon a long clip is on the page, how fast it is drawn."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import cpu_seconds, main

FRAMES, JOINTS, LONG = 464, 31, 13_350
"""Frames and joints of the clip that is dragged, and frames of a long take of a capture library."""

FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader"]
"""A browser without a screen or a graphics card as people have it: SwiftShader draws WebGL, and the page is composed by
the processor. With --use-angle=swiftshader the page is composed by shaders that the processor runs as well, which takes
as long again as drawing (80 instead of 40 ms of CPU time a frame)."""
SCRUB = """async () => {
  const spent = [];
  for (let n = 0; n < 40; n += 1) {
    const started = performance.now();
    window.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    spent.push(performance.now() - started);
  }
  return spent.sort((a, b) => a - b)[20];
}"""
"""Forty steps of the time by the key, each until it is drawn; the median, milliseconds."""


def run() -> dict[str, float]:
    """One step of a drag of 464 frames and 31 joints, and the opening of 13,350 frames, seconds of CPU."""
    from footplant import samples
    from footplant.editor import scene, wire
    from footplant.editor.actions import ready
    from footplant.editor.session import start
    from footplant.kinematics import Kinematics

    walk = with_joints(samples.load("walk"), JOINTS)
    palm = walk.character.contacts["left_palm"]
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for label, motion in (("30_fps", walk.motion.looped(4).resample(30.0)), ("120_fps", walk.motion)):
            session = start(replace(walk, motion=motion[:FRAMES]), "sample:walk", Path(folder))
            begun = ready(session.state)
            frame = FRAMES // 2
            place = Kinematics(begun.motion[frame]).point(palm)[0] + [0.1, 0.25, 0.1]
            spent = []
            for number in range(25):
                started = time.process_time()
                made = begun.drag(frame, palm, place + [0.0, 0.002 * number, 0.0])
                solved = time.process_time()
                wire.encode_poses(Kinematics(made.motion[frame - 112 : frame + 112]), frame - 112, wire.CURRENT, number)
                if number >= 5:
                    spent.append((solved - started, time.process_time() - solved))
            figures[f"editor.drag_seconds_{label}"] = statistics.median(solve for solve, _ in spent)
            figures[f"editor.patch_seconds_{label}"] = statistics.median(patch for _, patch in spent)
            session.journal.close()
        long = replace(walk, motion=walk.motion.looped(30)[:LONG])

        def open_it() -> None:
            session = start(long, "sample:walk", Path(folder))
            scene.figure_message(session)
            for first in range(0, LONG, 2000):
                wire.encode_poses(Kinematics(long.motion[first : first + 2000]), first, wire.CURRENT, 0)
            scene.document(session)
            session.journal.close()

        figures["editor.stack_of_six_seconds"] = stack_of_six(Path(folder))
        open_it()
        figures["editor.open_13350_frames_seconds"] = cpu_seconds(open_it, repeats=3)
        figures |= on_the_page(long, Path(folder))
    return figures


def stack_of_six(folder: Path) -> float:
    """Seconds of CPU until a stack of six on 505 frames is solved again after its first operator has changed."""
    from footplant import samples
    from footplant.editor.session import start

    session = start(samples.load("walk"), "sample:walk", folder)
    session.do({"kind": "mirror"})
    session.do({"kind": "path", "points": [[0.0, 0.0], [0.1, 2.8], [0.6, 5.6]]})
    session.do({"kind": "retarget", "character": "sample:short"})
    steps = scene_steps(session)
    session.do({"kind": "step", "id": steps[3]["id"], "move": [0.05, 0.0, 0.0]})
    session.do({"kind": "drag", "frame": 250, "point": "left_palm", "target": [0.5, 1.2, 2.6], "spacing": 8})
    session.do({"kind": "pin", "point": "right_palm", "start": 90, "end": 110, "frame": 100})
    spent = []
    for number in range(4):
        started = time.process_time()
        values = {"points": [[0.0, 0.0], [0.1, 2.8], [0.5 - 0.02 * number, 5.6]]}
        session.do({"kind": "stack", "do": "set", "id": 2, "values": values})
        spent.append(time.process_time() - started)
    session.journal.close()
    return statistics.median(spent)


def scene_steps(session) -> list[dict]:
    """The footsteps of a session, as the page gets them."""
    from footplant.editor.scene import document

    return document(session)["steps"]


def on_the_page(long, folder: Path) -> dict[str, float]:
    """Seconds from the address to the last pose on the page, and of a step of the time, in a real browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return {}
    from playwright.sync_api import sync_playwright

    from footplant import save

    save(folder / "long.bvh", long)
    command = [sys.executable, "-m", "footplant", "edit", str(folder / "long.bvh"), "--no-browser", "--json"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "FOOTPLANT_STATE": str(folder)}
    )
    try:
        assert server.stdout is not None
        said = "".join(iter(server.stdout.readline, "}\n")) + "}"
        with sync_playwright() as driver:
            opened = driver.chromium.launch(executable_path=browser, args=FLAGS)
            seconds = []
            for _ in range(3):
                page = opened.new_page(viewport={"width": 1280, "height": 720})
                started = time.perf_counter()
                page.goto(json.loads(said)["address"])
                last = f"() => window.__fp?.ready() && window.__fp.positions({LONG - 1}).some((x) => x !== 0)"
                while not page.evaluate(last):
                    time.sleep(0.01)
                page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done(true)))")
                seconds.append(time.perf_counter() - started)
                scrubbed = page.evaluate(SCRUB)
                page.close()
            opened.close()
    finally:
        server.kill()
        server.wait()
    found = {"editor.page_open_13350_frames_seconds": min(seconds), "editor.page_scrub_median_ms": scrubbed}
    return found | drawn(folder, browser)


PLAY = """async () => {
  document.querySelector("#play").click();
  let frames = 0;
  const started = performance.now();
  while (performance.now() - started < 4000) {
    await new Promise((done) => requestAnimationFrame(done));
    frames += 1;
  }
  document.querySelector("#play").click();
  return [frames, performance.now() - started];
}"""
"""Plays for four seconds; the frames that were drawn, and the milliseconds."""


def drawn(folder: Path, browser: str) -> dict[str, float]:
    """Frames per second of a textured character at 1280 × 720, drawn by the processor, and CPU time of one frame."""
    from playwright.sync_api import sync_playwright

    character = Path(__file__).resolve().parents[2] / "shared" / "data" / "gltf" / "CesiumMan.glb"
    if not character.is_file():
        return {}
    command = [sys.executable, "-m", "footplant", "edit", "sample:walk", "--to", str(character), "--no-browser",
               "--json"]  # fmt: skip
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "FOOTPLANT_STATE": str(folder / "drawn")}
    )
    try:
        assert server.stdout is not None
        said = "".join(iter(server.stdout.readline, "}\n")) + "}"
        with sync_playwright() as driver:
            opened = driver.chromium.launch(executable_path=browser, args=FLAGS)
            page = opened.new_page(viewport={"width": 1280, "height": 720})
            page.goto(json.loads(said)["address"])
            while not page.evaluate("() => window.__fp?.ready() && window.__fp.positions(9).some((x) => x !== 0)"):
                time.sleep(0.05)
            # the first pictures compile their shaders
            while not page.evaluate("() => window.__fp.sharp()"):
                time.sleep(0.05)
            page.evaluate(PLAY)
            before = _cpu_of_children()
            frames, milliseconds = page.evaluate(PLAY)
            spent = _cpu_of_children() - before
            opened.close()
    finally:
        server.kill()
        server.wait()
    return {
        "editor.frames_drawn_per_second": 1000.0 * frames / milliseconds,
        "editor.cpu_seconds_per_frame": spent / frames,
    }


def _cpu_of_children() -> float:
    """Seconds of CPU of all processes below this one: the browser's; 0 where /proc is missing."""
    ticks, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(words[1])
        ticks[int(path.parent.name)] = int(words[11]) + int(words[12])

    def below(number: int) -> bool:
        while number in parents:
            number = parents[number]
            if number == os.getpid():
                return True
        return False

    return sum(spent for number, spent in ticks.items() if below(number)) / os.sysconf("SC_CLK_TCK")


def with_joints(clip, count: int):
    """The clip on a figure with more joints: fingers that do not move, as captures have them."""
    from footplant import rotation
    from footplant.skeleton import Limits

    character, motion = clip.character, clip.motion
    skeleton, extra = character.skeleton, count - len(character.skeleton)
    hands = [character.roles["left_hand"], character.roles["right_hand"]]
    offsets = np.tile([0.0, -0.03, 0.0], (extra, 1))
    skeleton = replace(
        skeleton,
        names=(*skeleton.names, *(f"Finger{n}" for n in range(extra))),
        parents=np.concatenate([skeleton.parents, [hands[n % 2] for n in range(extra)]]),
        offsets=np.concatenate([skeleton.offsets, offsets]),
        rest=np.concatenate([skeleton.rest, rotation.identity(extra)]),
    )
    fingers = np.broadcast_to(rotation.identity(extra), (len(motion), extra, 4))
    limits = character.limits
    wide = np.full((extra, 3), np.inf)
    grown = replace(
        character,
        skeleton=skeleton,
        skin=None,
        source=None,
        masses=np.concatenate([character.masses, np.zeros(extra)]),
        mass_centers=np.concatenate([character.mass_centers, np.zeros((extra, 3))]),
        limits=Limits(np.concatenate([limits.lower, -wide]), np.concatenate([limits.upper, wide])),
    )
    moved = replace(motion, skeleton=skeleton, rotations=np.concatenate([motion.rotations, fingers], axis=1))
    return replace(clip, character=grown, motion=moved)


if __name__ == "__main__":
    main(run)
