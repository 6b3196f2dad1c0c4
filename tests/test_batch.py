"""Batches: nothing is lost, nothing is done twice, and a failing clip costs only itself."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import footplant
from bvh_text import write as write_bvh
from footplant.batch import JOBS, Batch, Ledger, Task, remote, run
from footplant.batch.card import write_card
from footplant.batch.dataset import SHARES, SPLITS, Dataset, assign_splits, pack, subject_of
from footplant.batch.jobs import Job, perform
from footplant.batch.run import LocalPool
from footplant.batch.worker import Limits, Worker
from footplant.cli import main
from footplant.errors import FormatError, MotionError
from footplant.io import load, save
from footplant.io.project import load_normalized
from footplant.samples import load as sample
from thorough import thorough

MAIN = [sys.executable, "-m", "footplant"]


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """Return twelve short clips, two of them equal, two damaged, in two folders."""
    folder = tmp_path_factory.mktemp("library")
    walk = sample("walk")
    (folder / "deep").mkdir()
    for number in range(10):
        part = walk.motion[10 * number : 10 * number + 60 + number]
        save(folder / ("deep" if number % 2 else ".") / f"clip{number}.bvh", part, character=walk.character)
    shutil.copy(folder / "clip0.bvh", folder / "equal.bvh")
    (folder / "damaged.bvh").write_text("HIERARCHY\nROOT hips\n{")
    (folder / "empty.glb").write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def pool(library):
    """Two workers for all tests; both have loaded their kernels."""
    made = LocalPool(2, Limits(60.0, 2048.0))
    for number, worker in enumerate(made.workers):
        assert worker.do(Task(f"first of {number}", "measure", str(library / "clip0.bvh")))["status"] == "done"
    yield made
    made.close()


def plan(library: Path, out: Path, job: str = "repair", **options) -> Batch:
    return Batch(job, [str(library)], out, **options)


def test_a_batch_processes_every_clip_once_and_reports_failures(library, tmp_path, pool):
    summary = run(plan(library, tmp_path), pool)
    assert (summary.total, summary.done, summary.same, summary.failed) == (13, 10, 1, 2)
    assert summary.frames == sum(60 + number for number in range(10))
    for number in range(10):
        where = tmp_path / ("deep" if number % 2 else ".") / f"clip{number}.bvh"
        assert len(load(where).motion) == 60 + number
    assert (tmp_path / "equal.bvh").read_bytes() == (tmp_path / "clip0.bvh").read_bytes()
    with open(tmp_path / "failures.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [Path(row["source"]).name for row in rows] == ["damaged.bvh", "empty.glb"]
    assert all(row["reason"] and "\n" not in row["reason"] for row in rows)
    assert not list(tmp_path.rglob("*.part"))


def test_a_batch_resumes(library, tmp_path, pool):
    run(plan(library, tmp_path), pool)
    with pytest.raises(FormatError, match="--resume"):
        run(plan(library, tmp_path), pool)
    again = run(plan(library, tmp_path), pool, resume=True)
    assert (again.done, again.kept, again.failed) == (0, 11, 2)
    # a missing or modified result is made again, and nothing else
    (tmp_path / "clip2.bvh").unlink()
    (tmp_path / "clip4.bvh").write_text("cut")
    again = run(plan(library, tmp_path), pool, resume=True)
    assert (again.done, again.kept) == (2, 9)
    assert len(load(tmp_path / "clip4.bvh").motion) == 64
    # another option is different work
    other = plan(library, tmp_path, "retarget", characters=("sample:short",), format="bvh")
    assert run(other, pool, resume=True).done == 10


def test_a_truncated_line_is_skipped(library, tmp_path, pool):
    run(plan(library, tmp_path), pool)
    path = tmp_path / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    again = run(plan(library, tmp_path), pool, resume=True)
    assert again.done + again.same + (again.failed - 1) <= 2
    assert again.ended == again.total
    assert all(json.loads(line) for line in path.read_bytes().splitlines()[len(lines) :])


def test_failures_are_retried_only_on_request(library, tmp_path, pool):
    mended = tmp_path / "in"
    shutil.copytree(library, mended)
    run(plan(mended, tmp_path / "out"), pool)
    assert run(plan(mended, tmp_path / "out"), pool, retry_failed=True).failed == 2
    shutil.copy(mended / "clip0.bvh", mended / "damaged.bvh")
    # other bytes are different work, so that a fixed file is processed without further options
    assert run(plan(mended, tmp_path / "out"), pool, resume=True).failed == 1


def test_result_names_are_unique(tmp_path):
    for name in ("a/walk.bvh", "b/walk.bvh", "a/Walk.glb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    files = [str(path) for path in sorted(tmp_path.rglob("*.*"))]
    batch = Batch("convert", files, tmp_path / "out", format="fbx")
    outs = [entry.out for entry in batch.entries]
    assert len({out.lower() for out in outs if out}) == 3
    both = Batch("retarget", [str(tmp_path / "a")], tmp_path / "out", ("sample:sally", "sample:blubby"))
    assert sorted(Path(entry.out or "").parts[0] for entry in both.entries) == ["blubby", "blubby", "sally", "sally"]


@pytest.mark.parametrize(
    ("job", "options", "said"),
    [
        ("dance", {}, "expected a job among retarget"),
        ("retarget", {}, "--to CHARACTER"),
        ("measure", {"characters": ("sample:sally",)}, "takes no character"),
        ("measure", {"format": "glb"}, "writes no motions"),
        ("convert", {"format": "doc"}, "expected a name ending in"),
        ("convert", {"format": "amc"}, "can be read but not written"),
        ("repair", {"parameters": {"method": "x"}}, "expected options of repair"),
        ("retarget", {"characters": ("nobody.glb",)}, "no such file"),
    ],
)
@pytest.mark.quick
def test_invalid_batches_are_refused_before_any_work(tmp_path, job, options, said):
    with pytest.raises(FormatError, match=said):
        Batch(job, ["sample:walk"], tmp_path, **options)


@pytest.mark.quick
def test_a_folder_decides_together_what_position_channels_mean(tmp_path):
    """One file whose joints look as if they were added to OFFSET is read as the other files of its folder."""
    parents, six = (-1, 0, 1), ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")
    offsets = np.array([[0.0, 0, 0], [0, 10, 0], [0, 20, 0]])
    for number, place in enumerate(([10.0, 20], [10.0, 20], [0.0, 0.0])):
        rows = np.zeros((3, 18))
        rows[:, [7, 13]] = place
        (tmp_path / f"clip{number}.bvh").write_text(write_bvh(parents, offsets, [six] * 3, [[]] * 3, rows))
    (tmp_path / "plain").mkdir()
    save(tmp_path / "plain" / "walk.bvh", sample("walk").motion[:5], character=sample("walk").character)
    batch = Batch("convert", [str(tmp_path)], tmp_path / "out")
    assert batch.positions == {str(tmp_path): "replace"}
    ledger = Ledger(tmp_path)
    tasks = {Path(entry.source).name: batch.task(entry, ledger) for entry in batch.entries}
    assert {name: task.reading for name, (task, _) in tasks.items()} == {
        "clip0.bvh": {"positions": "replace"}, "clip1.bvh": {"positions": "replace"},
        "clip2.bvh": {"positions": "replace"}, "walk.bvh": {},
    }  # fmt: skip
    assert tasks["clip2.bvh"][1]["positions"] == "replace"
    alone = Batch("convert", [str(tmp_path / "clip2.bvh")], tmp_path / "out")
    assert alone.task(alone.entries[0], ledger)[0].reading == {}
    assert alone.task(alone.entries[0], ledger)[0].key != tasks["clip2.bvh"][0].key


@pytest.mark.quick
def test_the_key_depends_on_input_character_options_and_companions(tmp_path):
    ledger = Ledger(tmp_path)
    walk = sample("walk")
    for name in ("a.bvh", "b.bvh"):
        save(tmp_path / name, walk.motion[:5], character=walk.character)

    def key(name="a.bvh", **options):
        batch = Batch(
            "retarget", [str(tmp_path / name)], tmp_path / "out", **({"characters": ("sample:sally",)} | options)
        )
        return batch.task(batch.entries[0], ledger)[0].key

    assert key() == key("b.bvh")
    assert (
        len({key(), key(characters=("sample:blubby",)), key(format="bvh"), key(parameters={"method": "perframe"})}) == 4
    )
    save(tmp_path / "b.bvh", walk.motion[:6], character=walk.character)
    assert key() != key("b.bvh")


def _fake_worker(tmp_path: Path, limits: Limits, body: str) -> Worker:
    """A worker whose jobs have one more kind, with a body of our own."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import footplant.batch.jobs as jobs\n"
        "def perform(task):\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "    return {}\n"
        "jobs.JOBS['test'] = jobs.Job('', perform, None)\n"
    )
    return Worker(limits)


def _before_the_rest(folder: Path) -> str:
    """The folder before those that this run imports from."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True: pass", "did not finish within 3 s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "its worker died 3 times: SIGSEGV"),
        ("import numpy; numpy.ones(1 << 31)", "exceeded the memory limit"),
        ("raise ValueError('odd')", "unexpected ValueError: odd"),
        *thorough(
            [],
            [
                ("import os; os._exit(3)", "its worker died 3 times: exit code 3"),
                ("import time; time.sleep(60)", "did not finish within 3 s"),
                ("b = bytearray(4 << 30)\nb[:] = b'x' * len(b)", "exceeded the memory limit"),
            ],
        ),
    ],
)
def test_a_hang_a_crash_or_excessive_memory_costs_one_clip(tmp_path, monkeypatch, body, said):
    worker = _fake_worker(tmp_path, Limits(3.0, 512.0), body)
    monkeypatch.setenv("PYTHONPATH", _before_the_rest(tmp_path / "site"))
    try:
        outcome = worker.do(Task("k", "test", "nothing"))
        assert outcome["status"] == "failed"
        assert said in outcome["reason"]
        # the next clip is done by the same worker
        worker.limits = Limits(120.0, 2048.0)
        (tmp_path / "next.bvh").write_text("")
        following = Task("k", "hash", "next", parameters={"sources": [str(tmp_path / "next.bvh")]})
        assert worker.do(following)["status"] == "done"
    finally:
        worker.stop()


def test_output_of_libraries_does_not_mix_with_outcomes(tmp_path, monkeypatch):
    worker = _fake_worker(tmp_path, Limits(), "import os; print('hello', flush=True); os.write(1, b'hello\\n')")
    monkeypatch.setenv("PYTHONPATH", _before_the_rest(tmp_path / "site"))
    try:
        assert worker.do(Task("k", "test", "nothing"))["status"] == "done"
    finally:
        worker.stop()


def test_workers_end_with_the_driver():
    worker = Worker(Limits())
    worker.do(Task("k", "measure", "nothing.bvh"))
    assert worker.pid is not None
    assert worker._process is not None
    assert worker._process.stdin is not None
    worker._process.stdin.close()
    assert worker._process.wait(20) == 0
    worker.stop()


def test_a_killed_batch_loses_nothing(library, tmp_path):
    """Workers are killed twice, then the driver; the resumed batch completes every clip."""
    out = tmp_path / "out"
    command = [*MAIN, "batch", "repair", str(library), "--format", "bvh", "-o", str(out),
               "--workers", thorough("1", "2"), "--resume", "--json"]  # fmt: skip
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ledger, killed = out / "ledger.jsonl", 0
    deadline = time.time() + 240
    while time.time() < deadline and driver.poll() is None:
        ended = len(ledger.read_bytes().splitlines()) if ledger.exists() else 0
        if killed < 2 and ended > 3 * killed:
            killed += _kill_a_worker(driver.pid)
        if ended >= 7:
            driver.send_signal(signal.SIGKILL)
            break
        time.sleep(0.02)
    driver.wait(30)
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["clips"] == 13
    assert told["failed"] == 2
    assert told["done"] + told["done_before"] + told["equal_to_others"] == 11
    assert killed == 2
    for number in range(10):
        where = out / ("deep" if number % 2 else ".") / f"clip{number}.bvh"
        assert len(load(where).motion) == 60 + number
    assert not [path for path in out.rglob("*.part") if time.time() - path.stat().st_mtime > 60]


def _kill_a_worker(driver: int) -> int:
    """Kill one child of the driver, if it has one."""
    children = Path(f"/proc/{driver}/task/{driver}/children")
    found = [] if not children.exists() else children.read_text().split()
    for task in Path(f"/proc/{driver}/task").iterdir() if Path(f"/proc/{driver}/task").exists() else ():
        found += (task / "children").read_text().split()
    if not found:
        return 0
    try:
        os.kill(int(found[0]), signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def test_the_same_on_a_cluster(library, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the cluster extra is not installed")
    from footplant.batch.cluster import DaskCluster, _thread, perform_chunk, read_notes

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        engine = DaskCluster(cluster.scheduler_address, tmp_path, Limits(60.0, 2048.0))
        try:
            summary = run(plan(library, tmp_path), engine)
        finally:
            engine.close()
    assert (summary.done, summary.same, summary.failed) == (10, 1, 2)
    assert len(load(tmp_path / "clip2.bvh").motion) == 62
    assert not (tmp_path / ".parts").exists()
    # a chunk that another worker had started is continued
    notes = tmp_path / "chunk.jsonl"
    notes.write_text(json.dumps({"key": "a", "status": "done", "seconds": 0.0, "by": "the other"}) + '\n{"key": "b"')
    tasks = [Task(key, "measure", "sample:walk").to_dict() for key in "ab"]
    first, second = perform_chunk(tasks, {"seconds": 120.0, "memory": None}, str(notes))
    # a cluster's worker keeps this process for its next chunk; here there is none
    _thread.worker.stop()
    del _thread.worker
    assert first["by"] == "the other"
    assert second["frames"] > 0
    assert [outcome["key"] for outcome in read_notes(notes)][-1:] == ["b"]


def test_outcomes_are_recovered_after_a_driver_dies_on_a_cluster(library, tmp_path, pool):
    batch = plan(library, tmp_path)
    task, _ = batch.task(batch.entries[0], Ledger(tmp_path))
    outcome = perform(task)
    (tmp_path / ".parts").mkdir()
    (tmp_path / ".parts" / "x.jsonl").write_text(json.dumps(outcome) + "\n")
    summary = run(batch, pool)
    assert (summary.done, summary.same, summary.failed) == (10, 1, 2)
    assert summary.work > 0
    assert Ledger(tmp_path).state(task.key, task.source) == "done"


def test_measures_contacts_and_conversions(library, tmp_path, pool):
    summary = run(plan(library, tmp_path / "m", "measure"), pool)
    assert (summary.done, summary.failed) == (10, 2)
    record = next(r for r in Ledger(tmp_path / "m").records.values() if r["status"] == "done")
    assert record["after"]["worst_drift"] < 2.0
    run(plan(library, tmp_path / "c", "contacts"), pool)
    found = json.loads((tmp_path / "c" / "clip0.json").read_text())
    assert len(found["plants"]) >= 2
    run(plan(library, tmp_path / "n", "normalize"), pool)
    kept, normalized = load_normalized(tmp_path / "n" / "clip2.footplant")
    assert len(normalized) == 62
    assert kept.constraints
    run(plan(library, tmp_path / "g", "convert", format=".glb"), pool)
    assert len(load(tmp_path / "g" / "clip6.glb").motion) == 66


def test_the_command_writes_a_report_and_a_dataset(tmp_path, capsys, batches_work_here):
    for name in ("walk", "kick"):
        clip = sample(name)
        save(tmp_path / f"{name}.bvh", clip.motion[:200:2], character=clip.character)
    clips = [str(tmp_path / f"{name}.bvh") for name in ("walk", "kick")]
    code = main(
        ["batch", "retarget", *clips, "--to", "sample:smpl", "-o", str(tmp_path / "out"),
         "--format", "footplant", "--dataset", "30", "--layout", "smpl", "--layout", "humanml3d",
         "--subject", "^(.)", "--split", "50,50,0", "--workers", "1", "--json"]
    )  # fmt: skip
    said = capsys.readouterr()
    assert code == 0, said.err
    told = json.loads(said.out)
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/png") == 3
    assert "kick.bvh" in page
    assert "http://" not in page
    data = Dataset.open(told["dataset"])
    assert len(data) == 2
    assert data.fps == 30.0
    names = [clip["name"] for clip in data.index["clips"]]
    assert names == ["kick", "walk"]
    kept = load(tmp_path / "out" / "walk.footplant").motion.resample(30.0)
    motion = data.motion(1)
    np.testing.assert_allclose(motion.root, kept.root, atol=1e-6)
    np.testing.assert_allclose(footplant.Kinematics(motion).positions, footplant.Kinematics(kept).positions, atol=1e-5)
    assert data[0]["contacts"].any(axis=0).sum() >= 2
    # two subjects, by the first letter of their names, in two splits
    assert {clip["subject"] for clip in data.index["clips"]} == {"k", "w"}
    assert len(data.split("train")) == len(data.split("validation")) == 1
    assert len(data.windows(10, 5, "train")) + len(data.windows(10, 5, "validation")) == len(data.windows(10, 5))
    card = (data.folder / "CARD.md").read_text()
    assert "| validation | 1 | 1 |" in card
    assert "foot skating" in card
    # what was written besides is the same motion
    again = load(data.folder / "smpl" / "walk.npz").motion
    ours = footplant.Kinematics(motion).positions
    np.testing.assert_allclose(footplant.Kinematics(again).positions, ours, atol=1e-4)
    rows = np.load(data.folder / "humanml3d" / "new_joint_vecs" / "walk.npy")
    assert rows.shape == (len(motion.resample(20.0)) - 1, 263)
    written = data.folder / "humanml3d"
    assert {(written / f"{name}.txt").read_text().strip() for name in ("train", "val")} == {"kick", "walk"}
    assert np.load(written / "Mean.npy").shape == np.load(written / "Std.npy").shape == (263,)
    starts = data.windows(10, 5)
    ends = np.cumsum([clip["frames"] for clip in data.index["clips"]])
    assert all((start < ends[0]) == (start + 10 <= ends[0]) for start in starts)


def test_workers_hash_inputs_wherever_they_are(library, tmp_path, pool, monkeypatch):
    """Files of an address that fsspec reads; the driver itself reads none, and knows them again when it resumes."""
    for name in ("clip0.bvh", "deep/clip1.bvh"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library / name, tmp_path / "in" / name)
    (tmp_path / "in" / "notes.md").write_text("no clip")

    def refuse(source: str) -> str:
        raise AssertionError(f"the driver reads {source}")

    monkeypatch.setattr("footplant.batch.ledger.hash_of", refuse)
    monkeypatch.setattr("footplant.batch.plan.hash_of", refuse)
    address = (tmp_path / "in").as_uri()
    batch = Batch("convert", [address], tmp_path / "out", format="npz")
    assert [entry.out for entry in batch.entries] == ["clip0.npz", "deep/clip1.npz"]
    assert run(batch, pool).done == 2
    assert len(load(tmp_path / "out" / "deep" / "clip1.npz").motion) == 61
    assert run(batch, pool, resume=True).kept == 2
    # the same bytes at another address are the same work
    shutil.copy(library / "clip0.bvh", tmp_path / "in" / "again.bvh")
    again = Batch("convert", [address], tmp_path / "out", format="npz")
    summary = run(again, pool, resume=True)
    assert (summary.kept, summary.same) == (2, 1)
    with pytest.raises(FormatError, match="no such file"):
        _ = Batch("convert", [f"{address}/nothing"], tmp_path / "out", format="npz").entries


@pytest.mark.quick
def test_inputs_that_do_not_end_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.bvh").write_bytes(b"x" * 100)
    monkeypatch.setattr(remote, "SETTINGS", replace(remote.SETTINGS, largest_input=99))
    with pytest.raises(FormatError, match="got more"):
        remote.hash_of(str(tmp_path / "a.bvh"))
    outcome = perform(Task("k", "hash", "x", parameters={"sources": [str(tmp_path / "a.bvh"), str(tmp_path)]}))
    assert "got more" in outcome["digests"][str(tmp_path / "a.bvh")]["reason"]
    assert "expected a file" in outcome["digests"][str(tmp_path)]["reason"]


@pytest.mark.quick
def test_ledgers_hold_places_instead_of_records(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.open()
    for number in range(3):
        ledger.append({"key": "k", "source": f"{number % 2}", "status": "done", "number": number, "stamp": [1, 2],
                       "hash": "h", "out": None})  # fmt: skip
    ledger.close()
    again = Ledger(tmp_path)
    assert [record["number"] for record in again.records.values()] == [1, 2]
    assert again.records["k", "0"]["number"] == 2
    assert (len(again.records), list(again.records)) == (2, [("k", "1"), ("k", "0")])
    assert again.known_digest("0", (1, 2)) == "h"
    assert again.known_digest("0", (1, 3)) is None
    assert again.known_digest("other", (1, 2)) is None
    duplicate = again.duplicate("k")
    assert duplicate is not None
    assert duplicate["number"] == 0
    # some hundred bytes a clip, whatever its record holds
    assert all(len(key) == 16 for key in again.records.places)


@pytest.mark.quick
def test_datasets_drop_lead_ins_and_single_poses(tmp_path):
    """A T-pose before the motion would teach a jump; a pose or two is no motion."""
    walk = sample("walk")
    pose = footplant.rest_motion(walk.motion.skeleton, frames=1)
    parts = [replace(pose, fps=walk.motion.fps), walk.motion[:60]]
    begun = replace(walk, motion=footplant.concatenate(parts), name="begun")
    data = pack([begun, replace(walk, motion=walk.motion[:2], name="short")], tmp_path, fps=walk.motion.fps)
    assert [(clip["name"], clip["frames"]) for clip in data.index["clips"]] == [("begun", 60)]
    assert data.index["dropped"] == [{"name": "short", "frames": 2}]
    steps = np.abs(np.diff(np.asarray(data.rotations), axis=0)).max()
    assert steps < 0.1
    text = write_card(data).read_text()
    assert "1 clips had a T-pose" in text
    assert "1 clips of a frame or two were left out" in text


@pytest.mark.quick
def test_splits_keep_subjects_together():
    assert [subject_of(name) for name in ("35_01", "a/cmu/35_02", "walk1_subject3", "KIT/9/x", "x")] == [
        "35", "35", "3", "KIT", "x"
    ]  # fmt: skip
    frames = {f"person {number}": 100 + number for number in range(100)}
    found = assign_splits(frames)
    assert found == assign_splits(dict(reversed(frames.items())))
    for split, share in zip(SPLITS, SHARES, strict=True):
        assert abs(sum(frames[who] for who in found if found[who] == split) / sum(frames.values()) - share) < 0.02
    assert assign_splits({"one": 5}) == {"one": "train"}
    with pytest.raises(MotionError, match="sum to 1"):
        assign_splits(frames, (0.5, 0.1, 0.1))


@pytest.mark.quick
def test_options_for_reading_apply_to_what_takes_them(tmp_path):
    for name in ("a.bvh", "b.amc", "c.npz", "model.asf"):
        (tmp_path / name).write_bytes(b"")
    reading = {"fps": 30.0, "units": "cm", "skeleton": str(tmp_path / "model.asf")}
    batch = Batch("measure", [str(tmp_path), "sample:walk"], tmp_path / "out", reading=reading)
    ledger = Ledger(tmp_path / "out")
    tasks = {Path(entry.source).name: batch.task(entry, ledger)[0] for entry in batch.entries}
    assert tasks["a.bvh"].reading == {"fps": 30.0, "units": "cm"}
    assert tasks["b.amc"].reading == tasks["c.npz"].reading == reading
    assert tasks["sample:walk"].reading == {"fps": 30.0}
    plain = Batch("measure", [str(tmp_path)], tmp_path / "out")
    assert plain.task(plain.entries[0], ledger)[0].key != tasks["a.bvh"].key
    # the bytes of the file that an option names count
    (tmp_path / "model.asf").write_bytes(b"other")
    other = Batch("measure", [str(tmp_path)], tmp_path / "out", reading=reading)
    assert other.task(other.entries[1], ledger)[0].key != tasks["b.amc"].key
    with pytest.raises(FormatError, match="no such file"):
        Batch("measure", [str(tmp_path)], tmp_path / "out", reading={"roles": str(tmp_path / "none.toml")})


@pytest.mark.quick
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--split", "80,10"), "three percentages"),
        (("--layout", "kit"), "expected --layout"),
        (("--subject", "("), "regular expression"),
        (("--fps", "0"), "expected --fps"),
    ],
)
def test_wrong_options_of_datasets_are_refused(tmp_path, capsys, options, said):
    begin = ["batch", "retarget", "sample:walk", "--to", "sample:smpl", "-o", str(tmp_path), "--dataset", "30"]
    assert main([*begin, *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "ledger.jsonl").exists()


@pytest.mark.quick
def test_datasets_refuse_other_skeletons(tmp_path):
    walk, short = sample("walk"), footplant.load_character("sample:short")
    other = footplant.Clip(footplant.rest_motion(short.skeleton, frames=3), short)
    with pytest.raises(MotionError, match="one skeleton"):
        pack([walk, other], tmp_path / "a", fps=30)
    assert not (tmp_path / "a" / "index.json").exists()
    with pytest.raises(MotionError, match="got none"):
        pack([], tmp_path / "b", fps=30)
    with pytest.raises(FormatError, match=r"index\.json"):
        Dataset.open(tmp_path)
    made = pack([walk], tmp_path / "c", fps=60)
    np.save(tmp_path / "c" / "root.npy", np.zeros((3, 3), np.float32))
    with pytest.raises(FormatError, match="expected"):
        Dataset.open(made.folder)
    with pytest.raises(IndexError):
        made[1]


@pytest.mark.quick
def test_every_job_has_a_summary():
    assert all(isinstance(job, Job) and job.summary for job in JOBS.values())


@pytest.mark.named("asf_amc/11_01.amc")
def test_a_character_is_read_with_its_skeleton(shared, tmp_path):
    from footplant.batch import jobs

    alone = tmp_path / "alone" / "11_01.amc"
    alone.parent.mkdir()
    shutil.copy(shared / "asf_amc" / "11_01.amc", alone)
    character = jobs._character(str(alone), str(shared / "asf_amc" / "11.asf"))
    assert character.require_roles()["hips"] == 0
    # a sample needs none
    assert jobs._character("sample:sally", "missing.asf").name == "sally"
