"""Whole jobs in the editor, from dropped files to exported ones, by mouse and keys in a real browser.

    python tests/nightly/editor_jobs.py [--pictures FOLDER] [--judge PYTHON] [JOB …]

Each job is written down in docs/editor.md as a person would do it. When its edits are made, the server is killed and
started again: the tab must come back with all of them. Then the job is done once more, and the server is killed while
an edit is being solved: at most that edit may be lost. What is exported must be read, and its feet must stand
(`footplant measure`); with --judge, the Python of ../shared/judge, an independent judge compares it with its source
where the two have the same frames. Pictures are taken at 1280 × 720 and 1920 × 1080.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import footplant
from browser_env import CHROMIUM, FLAGS
from editor_env import Editor, start_editor
from footplant import samples
from test_editor_page import TIMEOUT, Page

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
SMALL, LARGE = {"width": 1280, "height": 720}, {"width": 1920, "height": 1080}
DENSITY = 0.2
"""Pixels drawn for one of the page, each way, while a job is done: here the processor draws them all."""
DRIFT = 5.0
"""Largest drift of a footplant in an exported file, mm, for a person of average height; terrain and takes as captured
may drift more: see `Job.drift`."""


GOALS = {"stance_worst_mm": 20.0, "knee_flip_frames": 0.0, "elbow_flip_frames": 0.0, "below_floor_mm": 30.0,
         "arm_in_torso_mm": 20.0, "hand_in_head_mm": 20.0}  # fmt: skip
"""What the judge's goals allow its worst pair; limbs may differ from the source, because they were edited."""


class KilledError(Exception):
    """Raised when the server was killed in the middle of a job, and the tab has come back."""


class Job(Page):
    """A page on which a job is done."""

    def __init__(self, page, editor: Editor, folder: Path, state: Path, source: str) -> None:
        self.editor, self.folder, self.state_folder, self.source = editor, folder, state, source
        self.drift = DRIFT
        self.judged: Path | None = None
        """The clip with which the judge compares the result; None where their frames differ."""
        self.excused: tuple[str, ...] = ()
        """Figures of the judge that are printed, but have no goal for this job."""
        self.edits, self.kill_at = 0, -1
        """How many edits were made, and the one during which the server is killed."""
        self.said = ""
        super().__init__(page, editor.address)

    def drop_all(self, *paths: Path) -> None:
        """Drop files together: through the page's own handler of dropped files."""
        self.page.set_input_files("input[aria-label='File to open']", [str(path) for path in paths])
        self.page.wait_for_selector("#drop-open, #drop-retarget", timeout=120_000)

    def settle(self) -> None:
        """Wait until nothing is being solved."""
        self.wait("() => window.__fp.ready() && window.__fp.state().pending === 0")
        self.draw()

    def edited(self, count: int) -> None:
        """Wait for an edit that was just made; or kill the server in the middle of it."""
        self.edits = max(self.edits, count)
        if count == self.kill_at:
            self.kill_in_the_middle(count)
        self.wait_for_edits(count)
        self.settle()

    def kill_in_the_middle(self, count: int) -> None:
        """kill −9 while an edit is being solved: the tab comes back with all edits but that one, on the same clip."""
        clip = self.state()["figure"]["clip"]
        self.restart()
        left, found = self.state()["document"]["position"], self.state()["figure"]["clip"]
        assert left >= count - 1, f"{left} of {count} edits came back"
        # a first edit on the sample leaves nothing that would be lost
        assert found == clip, f"{clip} came back as {found}"
        self.said = f"killed during edit {count}: {left} came back"
        raise KilledError

    def restart(self) -> None:
        port = self.editor.port
        self.editor.kill()
        self.wait("() => document.querySelector('.away') !== null")
        self.editor = start_editor(self.state_folder, self.source, port=port)
        self.wait("() => document.querySelector('.away') === null && window.__fp.ready()")

    def tab(self, name: str) -> None:
        self.page.click(f"#tab-{name}")
        self.draw()

    def step(self, side: str, after: int) -> dict:
        return next(s for s in self.state()["document"]["steps"] if s["side"] == side and s["start"] >= after)

    def kill_and_return(self) -> None:
        """kill −9, and the editor is started again: the old tab comes back with every edit."""
        before = self.history()[: self.state()["document"]["position"]]
        if not before:
            return
        self.restart()
        self.wait_for_edits(len(before))
        after = self.history()[: self.state()["document"]["position"]]
        assert after == before, f"{before} came back as {after}"

    def repair(self) -> None:
        """Fix skating, floating and penetration, as the first edit."""
        self.tab("edit")
        self.page.click("#repair")
        self.edited(1)

    def export(self, ending: str) -> Path:
        """Export by the button; return the file."""
        self.page.select_option("#export-format", ending)
        with self.page.expect_download(timeout=100_000) as started:
            self.page.click("#export")
        path = self.folder / f"result.{ending}"
        started.value.save_as(path)
        return path

    def saved(self, button: str, name: str) -> Path:
        with self.page.expect_download(timeout=100_000) as started:
            self.page.click(button)
        path = self.folder / name
        started.value.save_as(path)
        return path


def sample_walk(job: Job) -> Path:
    """The clip that the editor opens, as a file for the judge."""
    return footplant.save(job.folder / "walk.bvh", samples.load("walk"))


def drag_a_hand(job: Job) -> Path:
    job.go_to(250)
    job.page.mouse.click(*job.ask("() => window.__fp.handle('left_palm')"))
    job.wait("() => window.__fp.gizmo('y') !== null")
    job.draw()
    job.drag(job.ask("() => window.__fp.gizmo('y')"), (0, -90))
    job.edited(1)
    job.page.keyboard.press("p")
    job.edited(2)
    job.judged = sample_walk(job)
    return job.export("bvh")


def move_a_footstep(job: Job) -> Path:
    step = job.step("right", 150)
    job.go_to(step["start"] + 20)
    bar = job.bar(step["id"])
    job.page.mouse.click(0.5 * (bar["x0"] + bar["x1"]), bar["y"])
    job.wait("() => window.__fp.gizmo('x') !== null")
    job.draw()
    job.drag(job.ask("() => window.__fp.gizmo('x')"), (24, 6))
    job.edited(1)
    job.page.keyboard.press("r")
    job.draw()
    job.page.fill("input[data-place='z']", f"{step['place'][2] + 0.05:.3f}")
    job.page.keyboard.press("Enter")
    job.edited(2)
    assert job.state()["document"]["conflicts"] == []
    job.judged = sample_walk(job)
    return job.export("glb")


def cure_an_overlap(job: Job) -> Path:
    step = job.step("left", 200)
    bar = job.bar(step["id"])
    job.drag((bar["x0"] + 1, bar["y"]), (-145, 0))
    job.edited(1)
    job.wait("() => window.__fp.state().document.conflicts.length > 0")
    job.tab("edit")
    job.page.locator(".fix", has_text="End the first").first.click()
    job.edited(2)
    job.wait("() => window.__fp.state().document.conflicts.length === 0")
    job.settle()
    # the detector of `measure` counts some frames beside the shortened step
    job.drift = 10.0
    return job.export("fbx")


def dress_another_character(job: Job) -> Path:
    file = DATA / "gltf" / "KayKit_Knight.glb"
    if not file.is_file():
        file = footplant.save(job.folder / "sally.glb", samples.load_character("sally"))
    job.drop_all(file)
    job.page.click("#drop-retarget")
    job.edited(1)
    job.judged = sample_walk(job)
    # its arms hang beside a body as broad as it is high: `footplant retarget` bends its elbows the same way
    job.excused = ("elbow_flip_frames",)
    return job.export("glb")


def open_amc_with_its_asf(job: Job) -> Path:
    job.drop_all(DATA / "asf_amc" / "35.asf", DATA / "asf_amc" / "35_01.amc")
    job.page.click("#drop-open")
    job.wait("() => window.__fp.state().figure.clip.includes('35')")
    job.settle()
    job.repair()
    job.judged = DATA / "asf_amc" / "35_01.amc"
    return job.export("bvh")


def solve_markers(job: Job) -> Path:
    job.drop_all(DATA / "trc" / "Gait.trc")
    job.page.click("#drop-open")
    job.wait("() => window.__fp.state().figure.clip === 'Gait'")
    job.settle()
    job.repair()
    # the detector of `measure` counts the rolling of captured feet, which repair leaves
    job.drift = 15.0
    return job.export("bvh")


def open_gltf_with_its_buffers(job: Job) -> Path:
    files = sorted(path for path in (DATA / "gltf" / "CesiumMan_separate").iterdir() if path.is_file())
    job.drop_all(*files)
    job.page.click("#drop-retarget")
    job.edited(1)
    job.judged = sample_walk(job)
    return job.export("glb")


def change_the_stairs(job: Job) -> Path:
    job.tab("scene")
    job.page.click("[data-ground='stairs:0.17:0.32:12']")
    job.edited(1)
    job.tab("stack")
    job.page.click("[data-operator=terrain] button.operator-title")
    job.page.fill("[data-value=ground]", "stairs:0.12:0.36:8")
    job.page.keyboard.press("Enter")
    job.edited(2)
    assert len(job.state()["document"]["stack"]) == 1
    job.drift = 40.0
    return job.export("glb")


def bend_the_path_and_compare(job: Job) -> Path:
    job.page.keyboard.press("w")
    job.wait("() => window.__fp.state().path.length > 2")
    job.go_to(300)
    job.drag(job.ask("() => window.__fp.pathPoint(3)"), (60, 0))
    job.edited(1)
    job.tab("stack")
    job.page.click("[data-operator=path] input[type=checkbox]")
    job.edited(2)
    job.page.click("[data-operator=path] input[type=checkbox]")
    job.edited(3)
    return job.export("usda")


def choose_a_take(job: Job) -> Path:
    job.drop_all(DATA / "fbx" / "ozz_pab_locomotions.fbx")
    if job.page.locator("#take").count():
        job.page.select_option("#take", "1")
    job.page.click("#drop-open")
    job.wait("() => window.__fp.state().figure.clip !== 'walk'")
    job.settle()
    job.tab("stack")
    job.page.click("#mirror")
    job.edited(1)
    job.page.fill("#retime-speed", "0.8")
    job.page.keyboard.press("Tab")
    job.page.click("#retime")
    job.edited(2)
    # its feet skate by 31 mm as it is opened
    job.tab("edit")
    job.page.click("#repair")
    job.edited(3)
    job.drift = 10.0
    return job.export("bvh")


def keep_what_was_driven(job: Job) -> Path:
    job.tab("drive")
    job.page.click("#drive")
    job.wait("() => window.__fp.state().driving === 'drive' && window.__fp.state().liveFrames > 3")
    job.page.keyboard.down("w")
    job.wait("() => window.__fp.livePosition()[2] > 1.5")
    job.page.keyboard.up("w")
    job.page.click("#keep-drive")
    job.wait("() => window.__fp.state().figure.clip === 'recording'")
    job.settle()
    job.repair()
    # a busy machine plays unevenly, and is recorded as it played
    job.drift = 15.0
    return job.export("glb")


def drive_with_own_clips(job: Job) -> Path:
    job.go_to(60)
    job.tab("scene")
    job.page.click("#add-ramp")
    job.edited(1)
    job.drop_all(*(footplant.save(job.folder / f"my_{n}.bvh", samples.load(n)) for n in ("walk", "run", "kick")))
    job.page.click("#drop-set")
    job.page.wait_for_selector("#own-set")
    job.page.click("#drive")
    job.wait("() => window.__fp.state().driving === 'drive' && window.__fp.state().liveFrames > 3")
    low = job.ask("() => window.__fp.livePosition()[1]")
    job.page.keyboard.down("w")
    job.wait(f"() => window.__fp.livePosition()[1] > {low + 0.15}")
    job.page.keyboard.up("w")
    job.page.keyboard.press("k", delay=150)
    job.page.click("#keep-drive")
    job.wait("() => window.__fp.state().figure.clip === 'recording'")
    job.settle()
    job.repair()
    # a busy machine plays unevenly, and is recorded as it played
    job.drift = 15.0
    return job.export("glb")


def blend_with_an_own_clip(job: Job) -> Path:
    own = footplant.save(job.folder / "mine.bvh", samples.load("limp"))
    job.drop_all(own)
    job.page.click("#drop-blend")
    job.page.locator("[data-blend='mine.bvh']").focus()
    for _ in range(10):
        job.page.keyboard.press("ArrowRight")
    job.page.click("#blend")
    job.edited(1)
    video = job.saved("#video", "result.webm")
    assert video.read_bytes()[:4] == bytes.fromhex("1a45dfa3")
    picture = job.saved("#picture", "result.png")
    assert picture.read_bytes()[1:4] == b"PNG"
    return job.export("glb")


def put_it_on_a_robot(job: Job) -> Path:
    job.drop_all(DATA / "robots" / "fourier_n1.xml")
    job.page.click("#drop-retarget")
    job.edited(1)
    job.drift = 40.0
    return job.export("bvh")


def build_a_ground(job: Job) -> Path:
    job.go_to(60)
    job.tab("scene")
    for count, piece in enumerate(("stairs", "block", "ramp"), start=1):
        job.page.click(f"#add-{piece}")
        job.edited(count)
    # where the block is in the picture
    job.go_to(260)
    job.page.locator(".list button", has_text="block").click()
    job.wait("() => window.__fp.knob('height') !== null")
    job.draw()
    job.drag(job.ask("() => window.__fp.knob('height')"), (0, 12))
    job.edited(4)
    job.drift = 40.0
    return job.export("glb")


def paste_a_pose(job: Job) -> Path:
    job.go_to(120)
    job.page.keyboard.press("Control+c")
    job.go_to(300)
    job.page.keyboard.press("Control+v")
    job.edited(1)
    (key,) = job.state()["document"]["drags"]
    job.page.mouse.click(*job.ask("(id) => window.__fp.key(id)", key["operator"]))
    job.draw()
    job.drag(job.ask("(id) => window.__fp.reach(id)", key["operator"]), (-40, 0))
    job.edited(2)
    job.judged = sample_walk(job)
    return job.export("bvh")


def two_characters(job: Job) -> Path:
    job.tab("character")
    job.page.select_option("#actor-sample", "limp")
    job.page.click("#add-actor")
    job.wait("() => window.__fp.state().cast.length === 2")
    job.edited(1)
    job.page.fill("#place-turn", "180")
    job.page.keyboard.press("Enter")
    job.edited(2)
    job.page.click("[data-character=child]")
    job.edited(3)
    job.page.locator("#outline li", has_text="walk").locator(".actor").click()
    job.wait("() => window.__fp.state().figure.clip === 'walk'")
    job.settle()
    job.page.locator("#outline li", has_text="limp").locator(".actor").click()
    job.wait("() => window.__fp.state().figure.clip === 'limp'")
    job.settle()
    return job.export("glb")


JOBS: dict[str, Callable[[Job], Path]] = {
    job.__name__: job
    for job in (
        drag_a_hand, move_a_footstep, cure_an_overlap, dress_another_character, open_amc_with_its_asf, solve_markers,
        open_gltf_with_its_buffers, change_the_stairs, bend_the_path_and_compare, choose_a_take, keep_what_was_driven,
        blend_with_an_own_clip, put_it_on_a_robot, build_a_ground, paste_a_pose, two_characters,
        drive_with_own_clips,
    )
}  # fmt: skip


def accept(path: Path, drift: float) -> str:
    """Read an exported file and measure its feet; return what was found."""
    clip = footplant.load(path)
    assert len(clip.motion) > 10
    assert np.isfinite(clip.motion.root).all()
    if not any(name.endswith("heel") for name in clip.character.contacts):
        return f"{len(clip.motion)} frames"
    quality = footplant.measure(clip)
    worst = quality.worst_plant
    found = 0.0 if worst is None else worst.drift
    assert found <= drift * max(clip.character.height, 0.1) / 1.75, f"a footplant drifts by {found:.1f} mm"
    return f"{len(clip.motion)} frames, worst footplant drifts {found:.2f} mm"


def judge(python: Path, job: Job, result: Path) -> str:
    """Have the judge compare a result with its source; return its figures that have a goal here."""
    source, tool = job.judged, DATA.parent / "judge" / "judge.py"
    if source is None:
        return "not for the judge"
    environment = {**os.environ, "PYTHONPATH": str(Path(footplant.__file__).resolve().parents[1])}
    program = [sys.executable, "-m", "footplant"]

    def call(*command: str) -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-800:] + done.stdout[-400:]
        return done.stdout

    paths = []
    for path, ending, name in ((source, ".bvh", "source"), (result, ".glb", "judged")):
        if path.suffix != ending:
            call(*program, "convert", str(path), str(job.folder / f"{name}{ending}"))
            path = job.folder / f"{name}{ending}"
        (job.folder / f"{name}.json").write_text(call(*program, "info", str(path), "--json"))
        paths.append(path)
    roles = [f"--{n}-roles={job.folder / f'{f}.json'}" for n, f in (("source", "source"), ("result", "judged"))]
    figures = json.loads(call(str(python), str(tool), "pair", *map(str, paths), *roles, "--json"))["figures"]
    found = {key: figures[key] for key in GOALS if figures.get(key) is not None}
    assert "stance_worst_mm" in found, "the judge found no stances"
    missed = {key: value for key, value in found.items() if value > GOALS[key] and key not in job.excused}
    assert not missed, f"the judge: {missed}"
    return "judge: " + ", ".join(f"{key} {value:.2f}" for key, value in found.items())


def take_pictures(job: Job, context, path: Path) -> None:
    """Take a picture of the page at both sizes, with all its pixels."""
    client = context.new_cdp_session(job.page)
    for size, label in ((LARGE, "1080"), (SMALL, "720")):
        client.send("Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": 1, "mobile": False})
        job.draw()
        job.wait("() => window.__fp.sharp()")
        shot = client.send("Page.captureScreenshot", {"format": "png"})
        path.with_name(f"{path.name}_{label}.png").write_bytes(base64.b64decode(shot["data"]))
    client.send("Emulation.setDeviceMetricsOverride", {**SMALL, "deviceScaleFactor": DENSITY, "mobile": False})
    job.draw()


def run(names: list[str], pictures: Path | None, python: Path | None) -> int:
    """Do the jobs; return how many failed."""
    from playwright.sync_api import sync_playwright

    failed = 0
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as base:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in names:
            try:
                count = whole_job(browser, name, Path(base) / name, pictures, python)
                if count:
                    # seeded by its name: the same edit every night
                    killed_job(browser, name, Path(base) / name, random.Random(name).randint(1, count))
            except Exception:
                failed += 1
                print(f"{name}: failed\n{traceback.format_exc(limit=4)}", flush=True)
        browser.close()
    return failed


@contextlib.contextmanager
def opened_job(browser, name: str, folder: Path, pictures: Path | None = None) -> Iterator[tuple[Job, Any]]:
    """An editor and a page on which a job can be done; a picture of what went wrong."""
    folder.mkdir()
    source = "sample:walk"
    editor = start_editor(folder / "state", source)
    # few pixels while working: here the processor draws them all
    context = browser.new_context(viewport=SMALL, device_scale_factor=DENSITY, accept_downloads=True)
    context.set_default_timeout(1000.0 * TIMEOUT)
    job = None
    try:
        job = Job(context.new_page(), editor, folder, folder / "state", source)
        job.page.on("dialog", lambda dialog: dialog.accept())
        yield job, context
    except Exception:
        if job is not None and pictures:
            job.page.screenshot(path=pictures / f"failed_{name}.png")
        raise
    finally:
        (job.editor if job is not None else editor).kill()
        context.close()
        shutil.rmtree(folder, ignore_errors=True)


def whole_job(browser, name: str, folder: Path, pictures: Path | None, python: Path | None) -> int:
    """Do a job, judge its file, kill the server and export again; return how many edits it makes."""
    started = time.monotonic()
    with opened_job(browser, name, folder, pictures) as (job, context):
        path = JOBS[name](job)
        said = accept(path, job.drift)
        if python:
            said += f"; {judge(python, job, path)}"
        if pictures:
            take_pictures(job, context, pictures / f"job_{name}")
        first = path.read_bytes()
        job.kill_and_return()
        again = job.export(path.suffix[1:])
        accept(again, job.drift)
        same = "the same file" if again.read_bytes() == first else "another file"
        assert job.problems == [], job.problems
        print(f"{name}: {said}; after kill −9 {same}; {time.monotonic() - started:.0f} s", flush=True)
        return job.edits


def killed_job(browser, name: str, folder: Path, at: int) -> None:
    """Do a job again and kill the server in the middle of one of its edits."""
    with opened_job(browser, name, folder) as (job, _):
        job.kill_at = at
        with contextlib.suppress(KilledError):
            JOBS[name](job)
        assert job.said, "the server was not killed"
        print(f"{name}: {job.said}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], metavar="JOB")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--judge", type=Path, help="the Python of ../shared/judge, which has its packages")
    asked = parser.parse_args()
    if asked.pictures:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    raise SystemExit(run(asked.jobs or list(JOBS), asked.pictures, asked.judge))
