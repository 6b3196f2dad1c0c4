"""Many motions of one skeleton as a few memory-mapped arrays, for random access by learning pipelines.

A dataset is a folder: `index.json` lists where each clip starts, `root.npy` (N, 3) and `rotations.npy` (N, J, 4) hold
the frames of all clips one after another, `contacts.npy` (N, 4) whether left heel, left ball, right heel and right ball
are in contact. Metres, y up, quaternions (w, x, y, z), all clips at one frame rate. NumPy alone reads it, with
`mmap_mode="r"`. Each clip is in the train, validation or test split, all clips of a subject in the same one; CARD.md
(`batch.card`) says what the dataset holds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.atomic import open_atomic, write_atomic
from footplant.batch.layouts import LayoutWriter
from footplant.clip import Clip
from footplant.errors import FormatError, MotionError
from footplant.motion import Motion
from footplant.skeleton import Skeleton

VERSION = 1
FEET = ("left_heel", "left_ball", "right_heel", "right_ball")
INDEX = "index.json"
SPLITS = ("train", "validation", "test")
SHARES = (0.8, 0.1, 0.1)
"""Default shares of the frames in the splits."""
LEAST_FRAMES = 3
"""Clips with fewer frames are left out: a pose or two is no motion."""
_SUBJECTS = (
    re.compile(r"(?:^|[/_-])(?:subject|subj|actor|person|performer)[_-]?0*(\d+)", re.IGNORECASE),
    re.compile(r"(?:^|/)0*(\d+)_\d+[^/]*$"),
    re.compile(r"^(.+?)/"),
)
"""Where names say who moves: "walk1_subject3" (LAFAN1), "35_01" (CMU), or the first folder (AMASS)."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A folder of frames, opened without reading them. `dataset[i]` gives a clip's arrays as views.

    It has a length and takes integer indices, as a PyTorch DataLoader requires of a map-style dataset.
    """

    folder: Path
    index: dict[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Dataset:
        """Open a dataset; its index is checked against its arrays."""
        path = Path(folder) / INDEX
        try:
            index = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise FormatError(f"expected a dataset, got a folder without {INDEX}", path=folder) from None
        except ValueError as error:
            raise FormatError(f"expected JSON, got a syntax error: {error}", path=path) from error
        if not isinstance(index, dict) or index.get("dataset") != VERSION:
            raise FormatError(f"expected a dataset of version {VERSION}, got {index.get('dataset')!r}"
                              if isinstance(index, dict) else "expected an object", path=path)  # fmt: skip
        found = cls(Path(folder), index)
        total = sum(clip["frames"] for clip in index["clips"])
        for name, shape in (("root", (3,)), ("rotations", (len(index["joints"]), 4)), ("contacts", (len(FEET),))):
            if getattr(found, name).shape != (total, *shape):
                raise FormatError(f"expected an array of shape {(total, *shape)}, got {getattr(found, name).shape}",
                                  path=Path(folder) / f"{name}.npy")  # fmt: skip
        return found

    def _array(self, name: str) -> NDArray:
        path = self.folder / f"{name}.npy"
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise FormatError(f"expected a NumPy array, got {error}", path=path) from error

    @cached_property
    def root(self) -> NDArray:
        """(N, 3) float32, metres: root positions, over all frames of all clips."""
        return self._array("root")

    @cached_property
    def rotations(self) -> NDArray:
        """(N, J, 4) float32: local rotations, quaternions (w, x, y, z)."""
        return self._array("rotations")

    @cached_property
    def contacts(self) -> NDArray:
        """(N, 4) uint8: 1 where left heel, left ball, right heel, right ball is in contact."""
        return self._array("contacts")

    @property
    def fps(self) -> float:
        """Frames per second of all clips."""
        return self.index["fps"]

    @cached_property
    def skeleton(self) -> Skeleton:
        """The common skeleton of all clips."""
        joints = self.index["joints"]
        return Skeleton(
            tuple(joint["name"] for joint in joints),
            np.array([joint["parent"] for joint in joints]),
            np.array([joint["offset"] for joint in joints], float).reshape(-1, 3),
            np.array([joint["rest"] for joint in joints], float).reshape(-1, 4),
        )

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self.index["clips"])

    def __getitem__(self, number: int) -> dict[str, NDArray]:
        """Return a clip's root, rotations and contacts, as views of the files."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"expected a clip in 0..{len(self) - 1}, got {number}")
        clip = self.index["clips"][number]
        return self.frames(clip["start"], clip["frames"])

    def frames(self, start: int, count: int) -> dict[str, NDArray]:
        """Return `count` frames from `start` on, counted over all clips."""
        part = slice(start, start + count)
        return {"root": self.root[part], "rotations": self.rotations[part], "contacts": self.contacts[part]}

    def motion(self, number: int) -> Motion:
        """Return a clip as a motion."""
        arrays = self[number]
        return Motion(self.skeleton, np.array(arrays["root"], float), np.array(arrays["rotations"], float), self.fps)

    def split(self, name: str) -> list[int]:
        """Return the numbers of the clips of a split: "train", "validation" or "test"."""
        if name not in SPLITS:
            raise MotionError(f"expected a split among {', '.join(SPLITS)}; got {name!r}")
        return [number for number, clip in enumerate(self.index["clips"]) if clip.get("split", "train") == name]

    def windows(self, length: int, stride: int = 1, split: str | None = None) -> NDArray:
        """Return (W,) first frames of all windows of a length inside one clip, `stride` frames apart, of all clips or
        of a split."""
        if length < 1 or stride < 1:
            raise MotionError(f"expected a length and a stride of 1 or more, got {length} and {stride}")
        found = [
            np.arange(clip["start"], clip["start"] + clip["frames"] - length + 1, stride)
            for clip in (
                self.index["clips"] if split is None else [self.index["clips"][number] for number in self.split(split)]
            )
        ]
        return np.concatenate(found) if found else np.zeros(0, int)


def subject_of(name: str) -> str:
    """Return who moves in a clip, by its name: a numbered subject, the first folder, or else the clip itself."""
    found = (pattern.search(name) for pattern in _SUBJECTS)
    return next((match[1] for match in found if match), name)


def assign_splits(frames: dict[str, int], shares: Sequence[float] = SHARES) -> dict[str, str]:
    """Return the split of each subject, given its frames.

    Subjects are taken in the order of a hash of their names, each into the split that lacks most of its share: the same
    subjects are always split in the same way.
    """
    if len(shares) != len(SPLITS) or min(shares) < 0 or not 0.99 < sum(shares) < 1.01:
        raise MotionError(f"expected 3 shares that sum to 1, got {', '.join(f'{share:g}' for share in shares)}")
    total = max(sum(frames.values()), 1)
    filled = dict.fromkeys(SPLITS, 0)
    found = {}
    for subject in sorted(frames, key=lambda name: hashlib.sha256(name.encode()).digest()):
        split = max(SPLITS, key=lambda name: shares[SPLITS.index(name)] - filled[name] / total)
        filled[split] += frames[subject]
        found[subject] = split
    return found


def pack(
    clips: Iterable[Clip],
    folder: str | Path,
    *,
    fps: float,
    subject: Callable[[str], str] = subject_of,
    shares: Sequence[float] = SHARES,
    layouts: Sequence[str] = (),
) -> Dataset:
    """Write clips of one skeleton as a dataset, resampled to one rate; frames are streamed, not held in memory.

    T-pose lead-ins are dropped, and clips of a frame or two. subject: a clip's name → who moves in it. shares: of the
    frames for training, validation and test. layouts: some of `layouts.LAYOUTS`, written besides.
    """
    from footplant.contacts.detection import find_contacts
    from footplant.feet.lead_in import split_lead_in

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    others = LayoutWriter(folder, layouts)
    skeleton: Skeleton | None = None
    entries: list[dict[str, Any]] = []
    dropped: list[dict[str, Any]] = []
    frames: dict[str, int] = {}
    total = lead_ins = 0
    with (
        open_atomic(folder / "root.npy") as root,
        open_atomic(folder / "rotations.npy") as rotations,
        open_atomic(folder / "contacts.npy") as contacts,
    ):
        files = (root, rotations, contacts)
        for clip in clips:
            lead, clip = split_lead_in(clip)
            lead_ins += bool(len(lead))
            if len(clip.motion) < LEAST_FRAMES:
                dropped.append({"name": clip.name, "frames": len(clip.motion)})
                continue
            motion = clip.motion.resample(fps)
            if skeleton is None:
                skeleton = motion.skeleton
                shapes = ((3,), (len(skeleton), 4), (len(FEET),))
                for file, shape, kind in zip(files, shapes, ("<f4", "<f4", "|u1"), strict=True):
                    _write_header(file, 0, shape, kind)
            elif motion.skeleton.names != skeleton.names or not np.allclose(
                motion.skeleton.offsets, skeleton.offsets, atol=1e-6
            ):
                raise MotionError(f"expected every clip on one skeleton, got another one in {clip.name!r}; "
                                  "retarget all of them to one character first")  # fmt: skip
            found = find_contacts((motion, clip.character))
            none = np.zeros(len(motion), bool)
            in_contact = np.stack([found.mask(name) if name in found.points else none for name in FEET], axis=1)
            root.write(motion.root.astype("<f4").tobytes())
            rotations.write(motion.rotations.astype("<f4").tobytes())
            contacts.write(in_contact.astype("|u1").tobytes())
            others.add(replace(clip, motion=motion))
            who = subject(clip.name)
            entries.append({"name": clip.name, "start": total, "frames": len(motion), "subject": who})
            frames[who] = frames.get(who, 0) + len(motion)
            total += len(motion)
        if skeleton is None:
            raise MotionError(
                f"expected clips to pack, got {'none of more than a frame or two' if dropped else 'none'}"
            )
        for file, shape, kind in zip(files, shapes, ("<f4", "<f4", "|u1"), strict=True):
            _write_header(file, total, shape, kind)
    joints = [
        {"name": name, "parent": int(parent), "offset": offset.tolist(), "rest": rest.tolist()}
        for name, parent, offset, rest in zip(
            skeleton.names, skeleton.parents, skeleton.offsets, skeleton.rest, strict=True
        )
    ]
    splits = assign_splits(frames, shares)
    entries = [entry | {"split": splits[entry["subject"]]} for entry in entries]
    others.finish(entries)
    index = {
        "dataset": VERSION, "fps": float(fps), "contacts": list(FEET), "joints": joints, "clips": entries,
        "dropped": dropped, "lead_ins": lead_ins,
    }  # fmt: skip
    # the index is written last: a folder without one is not a dataset
    write_atomic(folder / INDEX, json.dumps(index))
    return Dataset.open(folder)


def _write_header(file: Any, rows: int, shape: tuple[int, ...], kind: str) -> None:
    """Write an .npy header of fixed length at the start of the file, so that the number of rows can be set later."""
    described = {"descr": kind, "fortran_order": False, "shape": (rows, *shape)}
    text = repr(described).encode("latin1")
    length = 128 - 10
    file.seek(0)
    file.write(b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n")
