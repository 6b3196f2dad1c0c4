"""Every example runs, headless, in an empty folder."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
SHORT = (
    "02_contacts_as_arrays", "10_blend", "14_folder_to_folder", "15_cleanup", "16_smpl_out", "17_walk_a_motion_graph",
    "18_notebook", "19_mujoco", "20_resample", "21_report",
)  # fmt: skip
"""Programs that show how little it takes: 15 lines each, docstring and imports included."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    """In this process, where kernels are loaded once; warnings are errors, as everywhere in the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    for line in printed.splitlines():
        if line.startswith("wrote "):
            assert (tmp_path / line.removeprefix("wrote ")).stat().st_size > 1000


@pytest.mark.parametrize("name", SHORT)
def test_short_programs_are_short(name):
    assert len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 15


def test_the_mujoco_model_has_a_body_a_joint_and_the_motion_a_row_a_frame(tmp_path, monkeypatch, capsys):
    """MuJoCo itself is not needed: bodies are nested as the skeleton, and every joint has its numbers."""
    from xml.etree import ElementTree

    import numpy as np

    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / "19_mujoco.py"))
    capsys.readouterr()
    made = np.load("sally.npz")
    model = ElementTree.fromstring(str(made["xml"]))
    bodies = list(model.iter("body"))
    assert [len(body.findall("joint")) for body in bodies] == [1] * len(bodies)
    assert made["qpos"].shape[1] == 3 + 4 * len(bodies)
    assert np.allclose(np.linalg.norm(made["qpos"][:, 3:7], axis=1), 1.0)


def test_every_example_is_listed():
    text = (FOLDER / "README.md").read_text()
    assert EXAMPLES
    for example in EXAMPLES:
        assert f"({example.name})" in text
