"""`footplant puppet`, `record` and `replay`: files, sockets, signals, and how they fail."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import footplant
import live_made
from footplant.cli import main
from footplant.errors import FormatError
from footplant.live.protocols import recording
from footplant.live.protocols.vmc import VmcReceiver

FOOTPLANT = [sys.executable, "-m", "footplant"]


def run_json(capsys, *arguments) -> dict:
    code = main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def fails(capsys, *arguments) -> str:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("footplant: error: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    """Return a recording of a walk, as VMC, and its motion."""
    motion, character = live_made.walk()
    path = tmp_path_factory.mktemp("take") / "walk.datagrams"
    with open(path, "wb") as file:
        recorder = recording.Recorder(file)
        for frame, data in enumerate(live_made.encoded("vmc", motion[:120], character, 9.0)):
            recorder.add(data, "suit", 100.0 + frame / motion.fps)
    return path, motion


@pytest.mark.parametrize("command", ["puppet", "record", "replay"])
def test_help_has_an_example(capsys, command):
    assert main([command, "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"Example: footplant {command}" in out
    assert "--json" in out


def test_puppet_from_a_clip_to_a_file(capsys, tmp_path):
    out = tmp_path / "sally.bvh"
    facts = run_json(capsys, "puppet", "--in", "sample:walk", "--to", "sample:sally", "-o", out)
    clip = footplant.load(out)
    assert facts["frames"] == len(clip.motion) == 505
    assert clip.motion.fps == pytest.approx(120.0, rel=1e-4)
    assert clip.character.height == pytest.approx(footplant.load("sample:sally").character.height, rel=0.1)
    assert "exists already" in fails(capsys, "puppet", "--in", "sample:walk", "--to", "sample:sally", "-o", out)


def test_puppet_from_a_recording_to_a_file(capsys, tmp_path, take):
    path, _ = take
    out = tmp_path / "blubby.glb"
    facts = run_json(capsys, "puppet", "--in", path, "--to", "sample:blubby", "-o", out)
    assert facts["datagrams"] == 120
    assert facts["performers"][0].startswith("assumed T-pose")
    clip = footplant.load(out)
    assert 1.7 < clip.motion.duration < 2.1
    assert np.isfinite(clip.motion.rotations).all()


def test_puppet_with_a_scene(capsys, tmp_path, take):
    scene = tmp_path / "scene.toml"
    scene.write_text(
        'floor = 0.0\n[[things]]\nname = "table"\nreach = 0.2\n'
        'solid = { shape = "box", center = [0.5, 0.4, 1.0], half = [0.2, 0.4, 0.2] }\n'
    )
    out = tmp_path / "a.bvh"
    run_json(capsys, "puppet", "--in", "sample:punch", "--to", "sample:sally", "-o", out, "--scene", scene)
    scene.write_text('[[things]]\nsolid = { shape = "bax" }\n')
    base = ("puppet", "--in", "sample:punch", "--to", "sample:sally", "-o", tmp_path / "b.bvh", "--scene", scene)
    assert "things[0].solid.shape" in fails(capsys, *base)
    scene.write_text("floor = false\n")
    assert "expected a floor or things" in fails(capsys, *base)


def test_puppet_walks_up_a_slope_and_on_a_lift(capsys, tmp_path, take):
    path, _ = take
    heights = {}
    grounds = {"level": (), "slope": ("--ground", "slope:15"), "lift": ("--ground", "moving:lift:0.5:0.5")}
    for name, ground in grounds.items():
        out = tmp_path / f"{name}.bvh"
        run_json(capsys, "puppet", "--in", path, "--to", "sample:sally", "--out", out, *ground)
        root = footplant.load(out).motion.root
        heights[name] = root[-1, 1] - root[0, 1]
    assert heights["slope"] - heights["level"] > 0.1
    assert abs(heights["lift"] - heights["level"] - 0.5) < 0.01
    for ground in ("moving:boat:0.5:4", "moving:lift:0.5:4+stones:0.4:0.3", "moon:3"):
        fails(capsys, "puppet", "--in", path, "--to", "sample:sally", "--out", tmp_path / "no.bvh", "--ground", ground)


def test_errors_are_one_line(capsys, tmp_path, take):
    to = ("--to", "sample:sally")
    assert "--in" in fails(capsys, "puppet", *to, "--out", "vmc:39540")
    assert "--to" in fails(capsys, "puppet", "--in", "vmc:39539", "--out", "vmc:39540")
    assert "can only be received" in fails(capsys, "puppet", "--in", "vmc:39539", *to, "--out", "xsens:9763")
    assert "--allow" in fails(capsys, "puppet", "--in", "vmc:39539", *to, "--out", "vmc:39540", "--listen", "0.0.0.0")
    assert "--listen" in fails(capsys, "puppet", "--in", "vmc:0.0.0.0:39539", *to, "--out", "vmc:39540")
    assert "no such file" in fails(capsys, "puppet", "--in", "none.bvh", *to, "--out", "vmc:39540").lower()
    assert "one actor" in fails(
        capsys, "puppet", "--in", "vmc:39539", *to, "--out", tmp_path / "x.bvh", "--actors", "3"
    )
    assert "protocol" in fails(capsys, "record", "--in", "walk.bvh", "-o", tmp_path / "x.datagrams")
    assert "share" in fails(capsys, "replay", "sample:walk", "--out", "vmc:39539", "--loss", "3")


def test_record_and_replay(capsys, tmp_path, take):
    path, _ = take
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(10.0)
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        facts = run_json(capsys, "replay", path, "--out", f"vmc:127.0.0.1:{ear.getsockname()[1]}", "--speed", "50")
        assert facts["datagrams"] == 120
        first = ear.recv(65_536)
        lossy = run_json(
            capsys, "replay", "sample:clap", "--out", f"rokoko:127.0.0.1:{ear.getsockname()[1]}", "--speed", "100",
            "--loss", "0.5", "--noise", "2", "1", "--fps", "30",
        )  # fmt: skip
    assert len(VmcReceiver().feed(first, 0.0) + VmcReceiver().feed(first, 1.0)) == 0
    assert next(iter(recording.read(path))).data == first
    frames = footplant.load("sample:clap").motion.resample(30.0)
    assert 0.2 * len(frames) < lossy["datagrams"] < 0.8 * len(frames)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_session_leaves_complete_files(tmp_path, number):
    """A live session that is stopped writes its clip and its recording, and exits with code 0."""
    port, out, kept = free_port(), tmp_path / "live.bvh", tmp_path / "live.datagrams"
    command = [
        *FOOTPLANT, "puppet", "--in", f"vmc:{port}", "--to", "sample:sally", "-o", str(out), "--record", str(kept),
        "--json",
    ]  # fmt: skip
    motion, character = live_made.walk()
    data = live_made.encoded("vmc", motion, character, 4.0)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as show,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth,
    ):
        assert "listening" in show.stderr.readline()  # type: ignore[union-attr]
        for frame in range(240):
            mouth.sendto(data[frame % len(data)], ("127.0.0.1", port))
            mouth.sendto(b"garbage" * (frame % 5), ("127.0.0.1", port))
            time.sleep(1.0 / 120.0)
        time.sleep(0.5)
        show.send_signal(number)
        stdout, stderr = show.communicate(timeout=60)
    assert show.returncode == 0, stderr
    facts = json.loads(stdout)
    assert facts["poses"] > 5
    assert facts["ignored"] == 0
    # the last record is the end
    assert len(list(recording.read(kept))) == 481
    clip = footplant.load(out)
    assert len(clip.motion) == facts["frames"]


def test_live_in_and_out(tmp_path):
    """Datagrams in, datagrams out, in real time."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(20.0)
        command = [
            *FOOTPLANT, "puppet", "--in", f"vmc:{port}", "--to", "sample:short", "--out",
            f"vmc:127.0.0.1:{ear.getsockname()[1]}", "--seconds", "20", "--json",
        ]  # fmt: skip
        motion, character = live_made.walk()
        data = live_made.encoded("vmc", motion, character, 4.0)
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as show,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth,
        ):
            assert "listening" in show.stderr.readline()  # type: ignore[union-attr]
            for frame in range(60):
                mouth.sendto(data[frame], ("127.0.0.1", port))
                time.sleep(1.0 / 60.0)
            receiver, found = VmcReceiver(), []
            while len(found) < 10:
                found += receiver.feed(ear.recv(65_536), len(found) / 60.0)
            show.send_signal(signal.SIGINT)
            stdout, _ = show.communicate(timeout=60)
    assert show.returncode == 0
    assert json.loads(stdout)["poses"] >= 10
    assert all(np.isfinite(sample.positions).all() for sample in found)
    hips = np.array([sample.positions[0] for sample in found if sample.present[0]])
    assert 0.3 < hips[:, 1].mean() < 0.8


def test_seconds_of_a_file_are_those_of_its_motion(tmp_path):
    out = tmp_path / "part.bvh"
    arguments = ["puppet", "--in", "sample:walk", "--to", "sample:sally", "--out", str(out)]
    assert main([*arguments, "--seconds", "0.5"]) == 0
    assert abs(footplant.load(out).motion.duration - 0.5) < 0.02


def test_huge_files_are_refused_at_once(tmp_path):
    path = tmp_path / "endless.bvh"
    path.touch()
    os.truncate(path, 5 << 30)
    with pytest.raises(FormatError, match="at most 4 GiB"):
        footplant.load(path)
