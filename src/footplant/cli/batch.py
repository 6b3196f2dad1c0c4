"""`footplant batch`: run one job over a library of motion."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json, ReadOptions, unit
from footplant.cli.options import LeadInOption, lead_in_option, spread
from footplant.cli.output import console, note, print_facts, print_json, print_table

if TYPE_CHECKING:
    from footplant.batch.ledger import Ledger
    from footplant.batch.run import ProgressCallback, Summary

SHOWN = 10
"""Failures that are printed; all are in failures.csv."""


@spread
def batch(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="retarget, repair, measure, convert, contacts or normalize.")
    ],
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="IN…", help="Files, folders, sample:NAME, and addresses such as s3://bucket/clips."),
    ],
    reading: ReadOptions,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for results, ledger and report.")],
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="CHARACTER", help="A character or robot for retarget; repeatable."),
    ] = None,
    robot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="repair, measure: the clips are motions of this robot (MJCF or URDF)."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="ENDING", help="Output format: glb, bvh, fbx, usd … (retarget: glb).")
    ] = None,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="Method for retarget.")] = None,
    keep_footsteps: Annotated[bool, typer.Option("--keep-footsteps", help="Retarget into the source's steps.")] = False,
    hands: Annotated[bool, typer.Option("--hands", help="Detect palm contacts too.")] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Worker processes (default: one per core).")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help='A Dask scheduler (tcp://host:8786), or "local" to start one.')
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a batch that was started in DIR.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Retry clips that failed before.")] = False,
    timeout: Annotated[float, typer.Option(metavar="S", min=0.1, help="Time limit per clip, seconds.")] = 600.0,
    memory: Annotated[float, typer.Option(metavar="MB", min=1, help="Memory limit per clip, megabytes.")] = 2048.0,
    lead_in: LeadInOption = "keep",
    dataset: Annotated[
        float | None,
        typer.Option(
            metavar="FPS", min=1, max=1000, help="Pack the results into one dataset at this rate (DIR/dataset)."
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Also write the dataset as smpl, smplh, smplx or humanml3d; repeatable."),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="The subject of a clip: the first group of this pattern in its name."),
    ] = None,
    split: Annotated[
        str, typer.Option(metavar="A,B,C", help="Shares of the dataset's frames for training, validation and test.")
    ] = "80,10,10",
    json: Json = False,
) -> None:
    """Run one job over thousands of clips; a failing clip does not stop the others.

    DIR gets the results, ledger.jsonl (what was done, for --resume), failures.csv and report.html. A clip that crashes,
    hangs or exceeds the memory limit is stopped and reported. Exit code 1 means that some clips failed.
    Example: footplant batch retarget sample:walk sample:run --to sample:sally -o library
    """
    from footplant.batch import JOBS, Batch, Ledger, run
    from footplant.batch.report import library_report
    from footplant.batch.run import LocalPool
    from footplant.batch.worker import Limits, Worker
    from footplant.errors import FormatError
    from footplant.kernels.ahead import processors

    # a T-pose before the motion is no data to learn from
    lead_in = "drop" if dataset is not None else lead_in_option(lead_in)
    options = {"method": method, "keep_footsteps": keep_footsteps or None, "hands": hands or None}
    options["lead_in"] = None if lead_in == "keep" else lead_in
    packing = _packing(layout, subject, split, dataset)
    reading.check_rate()
    if robot is not None and job in JOBS and (to or not JOBS[job].robots):
        raise FormatError("--robot is for repair and measure, whose clips are motions of that robot")
    plan = Batch(
        job, inputs, out, tuple(to or ()) if robot is None else (robot,), format,
        {name: value for name, value in options.items() if value is not None},
        {name: value for name, value in vars(reading).items() if value is not None and value is not False}
        | ({} if reading.units is None else {"units": unit(reading.units)}),
    )  # fmt: skip
    if not plan.entries:
        raise FormatError("expected clips, got folders without any", path=inputs[0])
    if dataset is not None and (len(plan.characters) != 1 or job != "retarget"):
        raise FormatError("--dataset packs motions of one skeleton: use it with retarget to one character")
    limits = Limits(timeout, memory)
    if cluster is None:
        engine = LocalPool(workers or processors(), limits)
    else:
        from footplant.batch.cluster import DaskCluster

        engine = DaskCluster(cluster, out, limits, workers or processors())
    try:
        with _bar(job, len(plan.entries)) as report_progress:
            summary = run(plan, engine, resume=resume, retry_failed=retry_failed, progress=report_progress)
    finally:
        engine.close()
    ledger = Ledger(out)
    report = None
    if job in JOBS and any(record["status"] == "done" for record in ledger.records.values()):
        painter = Worker(Limits(60.0, memory))
        try:
            report = library_report(ledger, out / "report.html", f"{job}: {len(plan.entries)} clips", worker=painter)
        finally:
            painter.stop()
    packed = _pack(ledger, plan.characters[0], packing) if dataset is not None else None
    facts = {
        "job": job, "clips": summary.total, "done": summary.done, "done before": summary.kept,
        "equal to others": summary.same, "failed": summary.failed, "frames": summary.frames,
        "seconds": round(summary.seconds, 2), "frames/s": round(summary.frames / max(summary.seconds, 1e-9), 1),
        "report": None if report is None else str(report), "dataset": packed,
        "position channels": "; ".join(f"{'replace' if how == 'replace' else 'add to'} OFFSET in {folder}"
                                       for folder, how in plan.positions.items()) or None,
    }  # fmt: skip
    if json:
        print_json({key.replace(" ", "_"): value for key, value in facts.items()} | {"failures": summary.reasons})
    else:
        print_facts(f"batch {job} → {out}", facts)
        if summary.reasons:
            rows = list(summary.reasons.items())[:SHOWN]
            print_table(f"Failed ({len(rows)} of {summary.failed}; all in failures.csv)", ("clip", "why"), rows)
    if summary.failed:
        note(f"footplant: {summary.failed} of {summary.total} clips failed; see {out / 'failures.csv'}")
        raise typer.Exit(1)


def _packing(layouts: list[str] | None, subject: str | None, split: str, fps: float | None) -> dict[str, Any]:
    """Return the options of `pack`; raise before any work for those that make no sense."""
    from footplant.batch.dataset import assign_splits, subject_of
    from footplant.batch.layouts import LAYOUTS
    from footplant.errors import FormatError, MotionError

    if fps is None and (layouts or subject or split != "80,10,10"):
        raise FormatError("--layout, --subject and --split are for --dataset FPS")
    unknown = [name for name in layouts or () if name not in LAYOUTS]
    if unknown:
        raise FormatError(f"expected --layout to be one of {', '.join(LAYOUTS)}; got {unknown[0]!r}")
    try:
        shares = [float(part) / 100.0 for part in split.split(",")]
        assign_splits({}, shares)
    except (ValueError, MotionError):
        raise FormatError(f"expected --split as three percentages that sum to 100, got {split!r}") from None
    try:
        pattern = None if subject is None else re.compile(subject)
    except re.error as error:
        raise FormatError(f"expected --subject as a regular expression, got {subject!r}: {error}") from None

    def who(name: str) -> str:
        found = None if pattern is None else pattern.search(name)
        return subject_of(name) if found is None else found[min(1, found.re.groups)]

    return {"fps": fps, "layouts": tuple(layouts or ()), "subject": who, "shares": shares}


def _pack(ledger: Ledger, character: str, options: dict[str, Any]) -> str:
    """Pack the results of a batch into one dataset with its card, and return its folder."""
    from dataclasses import replace

    from footplant.batch.card import write_card
    from footplant.batch.dataset import pack
    from footplant.io import load, load_character

    wearer = load_character(character)
    done = sorted(record["out"] for record in ledger.records.values() if record["status"] == "done")

    def clips():
        for out in done:
            clip = load(ledger.folder / out)
            motion = replace(clip.motion, skeleton=wearer.skeleton)
            yield replace(clip, motion=motion, character=wearer, name=Path(out).with_suffix("").as_posix())

    packed = pack(clips(), ledger.folder / "dataset", **options)
    write_card(packed, ledger.records.values(), f"Motions of many people, retargeted to {character}.")
    return str(packed.folder)


@contextlib.contextmanager
def _bar(job: str, total: int) -> Iterator[ProgressCallback]:
    """Show a progress bar with rate, remaining time and failures; only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda summary, name: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(job),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} clips/s"),
        TimeElapsedColumn(),
        TextColumn("remaining"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]} failed"),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(job, total=total, rate="–", failed=0)

        def report_progress(summary: Summary, name: str) -> None:
            elapsed = bar.tasks[0].elapsed or 1e-9
            rate = (summary.ended - summary.kept) / elapsed
            bar.update(task, completed=summary.ended, rate=f"{rate:.1f}", failed=summary.failed)

        yield report_progress
