"""What conversions lose, and whether they say so: every character file by every format that writes.

    python benchmarks/loss_table.py [-o table.md] [--files N]

Meshes, skins, materials, textures, morph targets, joints, takes, cameras and lights are counted before and after by
other readers (ufbx, usd-core, plain JSON and XML: `tests/independent_counts.py`). A loss is silent if no line of
"lost: …" names it. The last line counts those: there must be none.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from independent_counts import independent  # noqa: E402

ENDINGS = (".glb", ".gltf", ".vrm", ".vrma", ".fbx", ".usda", ".usdz", ".bvh", ".npz", ".footplant")
PATTERNS = ("gltf/*.glb", "gltf/*/*.gltf", "gltf/*.gltf", "vrm/*.vrm", "vrma/*.vrma", "fbx/**/*.fbx", "usd/*.usd*",
            "bvh/bandai_nc/*.bvh", "bvh/other/*.bvh", "asf_amc/*.amc", "smpl_npz/*amass.npz")  # fmt: skip
WORDS = {
    "meshes": ("mesh",), "skins": ("skin", "weights", "mesh"), "materials": ("material", "mesh with its"),
    "textures": ("texture", "picture", "mesh with its"), "morph targets": ("morph", "blend shape", "mesh with its"),
    "joints": ("joint", "bone"), "cameras": ("camera",), "lights": ("light",), "takes": ("take",),
}  # fmt: skip
"""Words of a line that name a loss."""


def main() -> int:
    """Convert, count and print the table; return 1 if anything was lost in silence."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--files", type=int, help="how many files (default: all)")
    parser.add_argument("-o", "--out", type=Path, help="where to write the table as Markdown")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    arguments = parser.parse_args()
    files = list(dict.fromkeys(path for pattern in PATTERNS for path in sorted(arguments.data.glob(pattern))))
    lines = ["| file | " + " | ".join(ENDINGS) + " |", "|---" * (len(ENDINGS) + 1) + "|"]
    silent, written, told = [], 0, 0
    for path in files[: arguments.files]:
        before, cells = independent(path), []
        with tempfile.TemporaryDirectory() as folder:
            for ending in ENDINGS:
                cell, unsaid, count = _convert(path, before, Path(folder) / f"out{ending}")
                cells.append(cell)
                silent += [f"{path.name} → {ending}: {what}" for what in unsaid]
                written += cell != "refused"
                told += count
        held = ", ".join(f"{count} {what}" for what, count in before.items() if count)
        lines.append(f"| {path.relative_to(arguments.data).as_posix()} ({held}) | " + " | ".join(cells) + " |")
        if not arguments.json:
            print(lines[-1], *(line for line in silent if line.startswith(path.name)), sep="\nsilent: ", flush=True)
    lines += ["", f"{min(len(files), arguments.files or len(files))} files, {written} conversions, {told} losses told, "
              f"{len(silent)} silent", *silent]  # fmt: skip
    counts = {"losses.conversions": written, "losses.told": told, "losses.silent": len(silent)}
    print(json.dumps(counts) if arguments.json else "\n".join(lines[-1 - len(silent) :]))
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n")
    return 1 if silent else 0


MOST_TAKES = 8
"""Of a file with more takes only the first is converted, by choice: that is no loss."""


def _convert(path: Path, before: dict[str, int], out: Path) -> tuple[str, list[str], int]:
    """Return the cell of a conversion, what was lost in silence, and how many losses were told."""
    from footplant.cli import main as footplant

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        chosen = ["--take", "0"] if before.get("takes", 0) > MOST_TAKES else []
        code = footplant(["convert", str(path), str(out), *chosen, "--json"])
    if code:
        return "refused", [], 0
    facts = json.loads(printed.getvalue())
    said = " ".join([*facts["lost"], *facts["notes"]]).lower()
    after = independent(out)
    lost = {what: (count, after.get(what, 0)) for what, count in before.items() if after.get(what, 0) < count}
    if chosen:
        lost.pop("takes", None)
    unsaid = [
        f"{what} {had} → {has}"
        for what, (had, has) in lost.items()
        if not any(word in said for word in WORDS.get(what, (what,)))
    ]
    cell = ", ".join(f"{what} {had}→{has}" for what, (had, has) in lost.items()) or "all kept"
    return cell, unsaid, len(lost) - len(unsaid)


if __name__ == "__main__":
    sys.exit(main())
