"""The connection to one tab: requests are handled in order; of a drag only the latest target counts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from footplant.clip import Clip
from footplant.constraints.drags import Turn, drags_from_data
from footplant.editor import scene, wire
from footplant.editor.actions import EditContext, apply, ready, solve_by, solved
from footplant.editor.curves import curves
from footplant.editor.session import TAKES_EFFECT, Cancelled, Session
from footplant.errors import ConstraintError, FootplantError
from footplant.humanoid.default_body import default_body
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.plot.figures import character_data
from footplant.problem import Report
from footplant.serialise import json_ready
from footplant.skeleton import Character

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from footplant.contacts.ground import Ground
    from footplant.editor.drive_sets import DriveSet
    from footplant.editor.hub import Hub

LARGEST_MESSAGE = 256 * 1024
"""Largest message from the page, characters; it never needs more than a list of bars."""
CHUNK = 2000
"""Frames in one message of poses."""
SHOWN_AFTER = 0.25
"""Seconds after which the progress of a solve is shown."""
MOST_OWN = 64
"""Clips of one's own that are taken along to another session."""
MOST_WAITING = 200
"""Largest number of queued requests; the editor's page never sends more."""
GRACE = 0.1
"""Seconds in which a cancelled solve may end by itself; then its thread is left to run out and its result dropped."""
HISTORY, WITHOUT = "history:", "without:"
"""Prefixes of two results to compare: a position in the history, and the stack without an operator."""
Request = dict[str, Any]


class Job:
    """A request that is being handled: it can be cancelled until its result takes effect."""

    def __init__(self) -> None:
        """Start without anything asked."""
        self.cancelled = asyncio.Event()
        self._lock = threading.Lock()
        self._dropped = self._taken = False

    @property
    def dropped(self) -> bool:
        """Return whether its result is no longer wanted."""
        return self._dropped

    def cancel(self) -> None:
        """Ask it to stop; from the event loop."""
        with self._lock:
            if not self._taken:
                self._dropped = True
                self.cancelled.set()

    def take_effect(self) -> None:
        """Declare that its result takes effect now; raises if it was cancelled before."""
        with self._lock:
            if self._dropped:
                raise Cancelled
            self._taken = True


class Connection:
    """One tab and its session."""

    def __init__(self, hub: Hub, socket: WebSocket, key: str, session: Session) -> None:
        """Take an accepted socket."""
        self.hub, self.socket, self.key, self.session = hub, socket, key, session
        self._waiting: deque[Request] = deque()
        self._drag: Request | None = None
        """The latest target of the current drag."""
        self._news = asyncio.Event()
        self._job: Job | None = None
        self._own = threading.local()
        """The job of each thread: one that was cancelled may still run beside the next."""
        self._loop = asyncio.get_running_loop()
        self._worker = ThreadPoolExecutor(1, "footplant-edit")
        self._sending = asyncio.Lock()
        self._sent: dict[int, Motion] = {}
        """Layer → the motion that the page has."""
        self._sequence = 0
        self._begun = self._reported = 0.0
        self.driver: Any = None
        """What moves the character in drive or live mode; None while a clip is edited."""
        self._own_clips: list[Clip] = []
        self._own_set: DriveSet | None = None
        """Clips of the user's own motion set, and the set on the character that was driven last."""

    async def run(self) -> None:
        """Handle messages until the page disconnects."""
        from starlette.websockets import WebSocketDisconnect

        worker = asyncio.create_task(self._work())
        try:
            self._enqueue({"do": "hello"})
            while True:
                text = await self.socket.receive_text()
                if len(text) > LARGEST_MESSAGE:
                    await self.socket.close(1009, f"expected at most {LARGEST_MESSAGE} characters, got {len(text)}")
                    return
                if not await self._receive(text):
                    return
        except (WebSocketDisconnect, KeyError, RuntimeError):
            # the page is gone, or sent bytes instead of text
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await self.socket.close(1003, "expected text")
        finally:
            if self._job is not None:
                self._job.cancel()
            if self.driver is not None:
                # its last poses go through this loop
                await asyncio.to_thread(self.driver.stop)
            worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await worker
            await asyncio.to_thread(self._worker.shutdown)

    async def _receive(self, text: str) -> bool:
        """Handle one message; return False when the connection must be closed."""
        try:
            request = json.loads(text)
            if not isinstance(request, dict) or request.get("do") not in (*_HANDLERS, "drag", "cancel", "steer"):
                raise ValueError(f"expected a request among {', '.join(_HANDLERS)}")
        except (ValueError, RecursionError) as error:
            await self.send({"is": "error", "text": f"the page sent an invalid message: {error}"})
            return True
        if request["do"] == "cancel":
            if self._job is not None:
                self._job.cancel()
        elif request["do"] == "steer":
            if self.driver is not None:
                try:
                    self.driver.steer(request)
                except (FootplantError, ValueError) as error:
                    await self.send({"is": "error", "text": str(error), "during": "steer"})
        elif request["do"] == "drag":
            self._drag = request
            self._news.set()
        elif len(self._waiting) >= MOST_WAITING:
            await self.socket.close(1008, f"expected at most {MOST_WAITING} requests at a time, got more")
            return False
        else:
            self._enqueue(request)
        return True

    def _enqueue(self, request: Request) -> None:
        if request["do"] in ("drop", "release"):
            self._drag = None
        self._waiting.append(request)
        self._news.set()

    async def _work(self) -> None:
        while True:
            await self._news.wait()
            if self._waiting:
                request = self._waiting.popleft()
            elif self._drag is not None:
                request, self._drag = self._drag, None
            else:
                self._news.clear()
                continue
            await self._handle(request)

    async def _handle(self, request: Request) -> None:
        self._begun = self._reported = time.monotonic()
        try:
            await self._perform(request)
        except Cancelled:
            await self.send({"is": "note", "text": "Cancelled; nothing was changed."})
            await self._loop.run_in_executor(self._worker, self._refresh)
        except FootplantError as error:
            await self.send({"is": "error", "text": str(error), "during": request["do"]})
            await self._loop.run_in_executor(self._worker, self._refresh)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            await self.send(
                {"is": "error", "text": f"the request was not understood ({what})", "during": request["do"]}
            )
        finally:
            if self._reported > self._begun:
                await self.send({"is": "progress", "label": "", "share": 1.0, "done": True})

    async def _perform(self, request: Request) -> None:
        """Handle a request in the worker thread; a cancelled one is left behind when it does not end at once."""
        job = self._job = Job()
        working = self._loop.run_in_executor(self._worker, self._work_on, job, request)
        stopped = asyncio.ensure_future(job.cancelled.wait())
        try:
            await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await asyncio.wait({working}, timeout=GRACE)
            if not working.done():
                self._worker.shutdown(wait=False)
                self._worker = ThreadPoolExecutor(1, "footplant-edit")
                working.add_done_callback(lambda late: late.cancelled() or late.exception())
                raise Cancelled
            working.result()
        finally:
            stopped.cancel()
            self._job = None

    def _work_on(self, job: Job, request: Request) -> None:
        self._own.job = job
        _HANDLERS[request["do"]](self, request)

    async def send(self, message: dict[str, Any] | bytes) -> None:
        """Send a message; ignored when the page is gone."""
        from starlette.websockets import WebSocketDisconnect

        async with self._sending:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                if isinstance(message, bytes):
                    await self.socket.send_bytes(message)
                else:
                    await self.socket.send_text(json.dumps(message, separators=(",", ":"), allow_nan=False))

    def send_now(self, message: dict[str, Any] | bytes) -> None:
        """Send from the worker thread; waits until it is sent, so that messages to a slow page do not pile up."""
        asyncio.run_coroutine_threadsafe(self.send(message), self._loop).result()

    def progress(self, label: str, share: float) -> None:
        """Report progress of a solve to the page at intervals, and stop a solve that was cancelled."""
        job: Job | None = getattr(self._own, "job", None)
        if job is not None and job.dropped:
            raise Cancelled
        if job is not None and label == TAKES_EFFECT:
            job.take_effect()
            return
        now = time.monotonic()
        if now - self._begun > SHOWN_AFTER and now - self._reported > 0.1:
            self._reported = now
            self.send_now({"is": "progress", "label": label, "share": float(share)})

    def show(self, motion: Motion, layer: int = wire.CURRENT) -> int:
        """Send the poses of a layer that the page does not have yet; return their number of frames."""
        first, last = _changed(self._sent.get(layer), motion)
        self._sequence += 1
        for start in range(first, last, CHUNK):
            kinematics = Kinematics(motion[start : min(start + CHUNK, last)])
            self.send_now(wire.encode_poses(kinematics, start, layer, self._sequence))
        self._sent[layer] = motion
        return last - first

    def _refresh(self) -> None:
        """Send the current motion and document."""
        self.show(self.session.state.motion)
        self.send_now(scene.document(self.session))

    def introduce(self) -> None:
        """Send everything about the session: character, mesh, poses, ground, bars."""
        session, state = self.session, self.session.state
        self._sent.clear()
        self.send_now({**scene.figure_message(session), "level": scene.level_of(state), "session": self.key,
                   "left": self.hub.left(session), "methods": list(self.hub.methods)})  # fmt: skip
        self.send_body(state.character)
        self.show(state.motion)
        if session.origin.motion is not state.motion:
            self.show(session.origin.motion, wire.ORIGINAL)
        self._send_ground()
        self._send_cast()
        self.send_now(scene.document(session))

    def send_body(self, character: Character, layer: int = wire.CURRENT) -> None:
        """Send the skin of a character with its materials; a body of typical proportions if it has none."""
        skin = character.skin or default_body(character)
        if skin is None:
            return
        self.send_now(wire.encode_mesh(skin, layer, 0))
        looks = scene.looks_of(character) if character.skin is not None else None
        if looks is not None:
            self.send_now(wire.encode_looks(skin, looks, layer, 0))

    def _send_ground(self) -> None:
        grid = scene.state_ground(self.session.state)
        if grid is not None:
            self._sequence += 1
            self.send_now(wire.encode_ground(*grid, self._sequence))

    def _changed_to(self, before: Any) -> None:
        """Send what an edit, an undo or a redo changed."""
        state = self.session.state
        if before.character is not state.character or len(before.motion) != len(state.motion):
            self.introduce()
            return
        if before.ground is not state.ground:
            self.send_now({"is": "ground", "name": state.ground_name, "level": scene.level_of(state)})
            self._send_ground()
        self._refresh()

    def hello(self, request: Request) -> None:
        self.introduce()

    def edit(self, request: Request) -> None:
        before = self.session.state
        self.session.do(request["edit"], self.progress)
        self._changed_to(before)

    def go(self, request: Request) -> None:
        before = self.session.state
        self.session.go(int(request["position"]), self.progress)
        self._changed_to(before)

    def drag(self, request: Request) -> None:
        """Send a preview of the motion for the current mouse position."""
        started = time.perf_counter()
        state = self.session.state
        if request["edit"] == "step":
            self._preview_step(request, started)
            return
        data = {key: request[key] for key in _DRAG_FIELDS[request["edit"]] if key in request} | {
            "kind": request["edit"]
        }
        (edit,) = drags_from_data([data], state.character, frames=len(state.motion))
        begun = ready(state, self.progress)
        self.session.cache_state(replace(state, manipulation=begun))
        made = begun.again(edit)
        solved = time.perf_counter()
        frames = self.show(made.motion)
        missed = None
        if not isinstance(edit, Turn):
            reached = Kinematics(made.motion[edit.frame]).point(edit.point)[0]
            missed = 1000.0 * float(np.linalg.norm(reached - np.asarray(edit.target)))
        self.send_now({"is": "dragged", "seq": request.get("seq", 0), "missed": missed, "frames": frames,
                   "milliseconds": 1000.0 * (solved - started)})  # fmt: skip

    def _preview_step(self, request: Request, started: float) -> None:
        """Send a preview of the motion while a footstep is moved or turned."""
        edit = {"kind": "step", **{key: request[key] for key in ("id", "move", "turn", "grounded") if key in request}}
        context = EditContext(self.session.journal.files, self.progress)
        made = solved(apply(edit, self.session.state, context), self.progress)
        spent = time.perf_counter() - started
        frames = self.show(made.motion)
        off = [entry for entry in scene.conflicts(made) if request.get("id") in entry["steps"]]
        self.send_now({"is": "dragged", "seq": request.get("seq", 0), "missed": None, "frames": frames,
                       "milliseconds": 1000.0 * spent, "conflict": off[0]["text"] if off else ""})  # fmt: skip

    def release(self, request: Request) -> None:
        """Discard a preview."""
        self._refresh()

    def curves(self, request: Request) -> None:
        self.send_now(curves(self.session.state, str(request["plot"]), int(request.get("joint", 0))))

    def quality(self, request: Request) -> None:
        if not self._waiting:
            self.send_now(scene.quality(self.session))

    def compare(self, request: Request) -> None:
        """Show two results until the page releases them: methods, stacks of the history, stacks without an operator."""
        wanted = [(wire.FIRST, str(request["a"])), (wire.OTHER, str(request["b"]))]
        found = [(layer, name, *self._result(name)) for layer, name in wanted]
        now, said = self.session.state, []
        for layer, name, motion, character, report, rows in found:
            said.append({
                "name": name, "report": None if report is None else scene.report(report), "rows": rows,
                "layer": wire.CURRENT if name == "current" else layer, "frames": len(motion), "fps": motion.fps,
                "character": None if character is now.character else character_data(character),
            })  # fmt: skip
        self.send_now({"is": "compare", "a": said[0], "b": said[1]})
        for layer, name, motion, character, _, _ in found:
            if name != "current":
                if character is not now.character:
                    self.send_body(character, layer)
                self._sent.pop(layer, None)
                self.show(motion, layer)

    def _result(self, name: str) -> tuple[Motion, Character, Report | None, list[Any] | None]:
        """Return the motion, character, report and measures of a result to compare."""
        session, state = self.session, self.session.state
        if name == "current":
            return state.motion, state.character, state.report, None
        kind, _, digits = name.rpartition(":")
        if f"{kind}:" in (HISTORY, WITHOUT):
            if not digits.isdigit():
                raise ConstraintError(f"expected a number of an edit or an operator, got {name!r}")
            evaluated = session.state_at if f"{kind}:" == HISTORY else session.state_without
            other = evaluated(int(digits), self.progress)
            return other.motion, other.character, other.report, scene.quality_rows(session.origin, other)
        solution = solve_by(name, state, EditContext(session.journal.files, self.progress))
        rows = [[label, before, after] for label, before, after in solution.report.comparison()]
        return solution.motion, state.character, solution.report, json_ready(rows)

    def actor(self, request: Request) -> None:
        """Add a character to the scene, edit another one, or remove one."""
        what = request.get("what")
        with self._own_files_kept(request):
            if what == "add":
                take, roles = request.get("take"), request.get("roles")
                self.session = self.hub.add_in(self.key, self.session, str(request["file"]), self.progress, take, roles)
            elif what == "edit":
                self.session = self.hub.switch_to(self.key, str(request["id"]))
            elif what == "remove":
                self.session = self.hub.remove_from(self.key, str(request["id"]))
            else:
                raise ConstraintError(f"expected add, edit or remove, got {what!r}")
        self.introduce()

    def _send_cast(self) -> None:
        """Send the characters of the scene, and the poses of those that are not edited."""
        tab = self.hub.tabs.get(self.key)
        cast = [self.session] if tab is None else tab.cast
        layers = [wire.CURRENT if each is self.session else wire.CAST + n for n, each in enumerate(cast)]
        actors = [scene.actor(each, each is self.session, layer) for each, layer in zip(cast, layers)]
        self.send_now({"is": "cast", "actors": actors})
        for each, layer in zip(cast, layers):
            if each is not self.session:
                self.send_body(each.state.character, layer)
                self.show(each.state.motion, layer)

    def make_set(self, request: Request) -> None:
        """Make a motion set of clips of one's own, to be driven: uploaded ones, and the edited one."""
        from footplant.editor.drive_sets import MOST_CLIPS

        names = request.get("clips")
        if not isinstance(names, list) or not 0 < len(names) <= MOST_CLIPS:
            raise ConstraintError(f"expected 1 to {MOST_CLIPS} clips of a set, got {names!r}")
        self._own_clips = [self._clip_of(entry) for entry in names]
        self._own_set = None
        self.send_now(self._driven_by_own().message())

    def _clip_of(self, entry: Any) -> Clip:
        """Return a clip of a set: the edited one as it is, a sample, or a take of an uploaded file."""
        from footplant.editor.opening import load_material
        from footplant.io import SAMPLE, load

        if entry == "current":
            state = self.session.state
            return replace(state.clip, motion=state.motion, others=())
        if not isinstance(entry, dict):
            raise ConstraintError(f"expected a clip of a set, got {entry!r}")
        name, take = str(entry.get("file")), entry.get("take")
        if name.startswith(SAMPLE):
            return load(name)
        path = self.session.journal.find(name)
        clip = load_material(path, take=take if isinstance(take, int) else None, progress=self.progress)
        return replace(clip, name=path.stem)

    def _driven_by_own(self) -> DriveSet:
        """Return the set of the user's own clips on the edited character; made again for another one."""
        from footplant.editor.drive_sets import own_set

        if not self._own_clips:
            raise ConstraintError("expected a set of your own clips, got none: make one first")
        character = self.session.state.character
        if self._own_set is None or self._own_set.controller.character is not character:
            self._own_set = own_set(self._own_clips, character, self.progress)
        return self._own_set

    def drive(self, request: Request) -> None:
        """Start or stop driving the character by keys or a stream."""
        from footplant.editor.driving import KeyDriver, StreamDriver

        played = self._end_performance()
        if request["mode"] == "keep":
            self._keep_driven(played, request)
            return
        state = self.session.state
        keys: list[dict[str, str]] = []
        if request["mode"] == "drive":
            own = request.get("set") == "own"
            driven = self._driven_by_own() if own else self.hub.sample_set(state.character, self.progress)
            place, facing = scene.start_of(state)
            self.driver = KeyDriver(
                driven, self.send_now, place=place, facing=facing, ground=scene.driven_ground(state)
            )
            keys = driven.keys()
        elif request["mode"] == "live":
            self.driver = StreamDriver(str(request["place"]), state.character, self.send_now)
        if self.driver is not None:
            self.driver.start()
            self.send_now({"is": "driving", "mode": request["mode"], "keys": keys})

    def _keep_driven(self, played: Any, request: Request) -> None:
        """Open what was driven or received as a clip of its own."""
        from footplant.editor.driving import Driver

        if not isinstance(played, Driver):
            raise ConstraintError("expected something that was played, got nothing")
        clip = Clip(played.recorded(), played.character, name="recording")
        self._open_recording([clip], played.ground, self.session.state.ground_name, request)

    def _open_recording(self, clips: list[Clip], ground: Ground | None, ground_name: str, request: Request) -> None:
        """Open what was played in this tab: the characters of a scene, and the ground that they moved on."""
        from footplant.editor.files import save_scene
        from footplant.editor.recorded_ground import pack_ground

        path = self.session.journal.new_upload("recording.footplant", "recorded")
        save_scene(path, clips)
        path.chmod(0o600)
        name = f"{path.parent.name}/{path.name}"
        with self._own_files_kept(request):
            self.session = self.hub.open_in(self.key, self.session, name, self.progress)
        if ground is not None:
            for session in self.hub.tabs[self.key].cast:
                kept = session.journal.keep("ground.npz", pack_ground(ground, session.state.motion))
                session.do({"kind": "ground", "file": kept, "name": ground_name})
        self.introduce()

    def crowd(self, request: Request) -> None:
        """Start, stop or keep a crowd, or add clips of one's own to what its messages may name."""
        mode = request["mode"]
        if mode == "declare":
            self._declare(request)
        elif mode == "keep":
            self._keep_crowd(request)
        elif mode in ("start", "off"):
            self._end_performance()
            if mode == "start":
                self._start_crowd(request)
        else:
            raise ConstraintError(f"expected start, declare, keep or off, got {mode!r}")

    def _end_performance(self) -> Any:
        """Stop what moves characters, if anything does, and return it."""
        played, self.driver = self.driver, None
        if played is not None:
            played.stop()
        return played

    def _start_crowd(self, request: Request) -> None:
        from footplant.editor.crowd_player import CrowdPlayer
        from footplant.editor.crowd_scenes import OPEN, open_crowd

        state, clips = self.session.state, self._crowd_clips(request)
        present: list[str] = []
        if request["scene"] == OPEN:
            tab = self.hub.tabs.get(self.key)
            for session in [self.session] if tab is None else tab.cast:
                if session.state.ground is not None:
                    raise ConstraintError(
                        f"expected clips on level ground, got {session.state.clip.name!r} on a terrain: switch it off "
                        "in Stack, start the crowd, and choose the ground there"
                    )
                own = replace(session.state.clip, motion=session.state.motion, others=())
                present.append(new_name(own.name, clips))
                clips[present[-1]] = own
        opening = open_crowd(
            str(request["scene"]), clips, present, ground=state.ground, apart=bool(request.get("apart")),
            progress=self.progress,
        )  # fmt: skip
        # not if it was cancelled meanwhile
        self.progress("preparing the crowd", 1.0)
        self.driver = CrowdPlayer(opening, self.send_now)
        self.driver.start()
        self.send_now({"is": "driving", "mode": "crowd", "keys": []})

    def _crowd_clips(self, request: Request) -> dict[str, Clip]:
        """Return clips of the user's own that a request names, by the names that a crowd's messages give them."""
        from footplant.editor.drive_sets import MOST_CLIPS

        names, clips = request.get("clips", []), {}
        if not isinstance(names, list) or len(names) > MOST_CLIPS:
            raise ConstraintError(f"expected up to {MOST_CLIPS} clips of your own, got {names!r}"[:200])
        for entry in names:
            clip = self._clip_of(entry)
            clips[new_name(clip.name, clips)] = clip
        return clips

    def _declare(self, request: Request) -> None:
        from footplant.editor.crowd_player import CrowdPlayer
        from footplant.editor.crowd_scenes import own_material
        from footplant.editor.drive_sets import MOST_CLIPS

        player = self.driver
        if not isinstance(player, CrowdPlayer):
            raise ConstraintError("expected a crowd that plays, got none: start one first")
        for name, clip in self._crowd_clips(request).items():
            if len(player.own) >= 2 * MOST_CLIPS:
                raise ConstraintError(f"expected up to {2 * MOST_CLIPS} clips of your own in a crowd, got more")
            player.declare(new_name(name, player.own), own_material(clip))

    def _keep_crowd(self, request: Request) -> None:
        """Open what the crowd has played as a scene; it ends only if that can be done."""
        from footplant.editor.crowd_player import CrowdPlayer, still_ground
        from footplant.editor.hub import MOST_ACTORS

        player = self.driver
        if not isinstance(player, CrowdPlayer):
            raise ConstraintError("expected a crowd that plays, got none: start one first")
        clips = player.recording.clips()
        if len(clips) > MOST_ACTORS:
            raise ConstraintError(
                f"expected at most {MOST_ACTORS} characters in a scene of the editor, got {len(clips)}: remove some "
                "actors and keep it then"
            )
        self._end_performance()
        self.send_now({"is": "driving", "mode": "off", "keys": []})
        self._open_recording(clips, still_ground(player.crowd.scene.ground), player.ground, request)

    @contextlib.contextmanager
    def _own_files_kept(self, request: Request) -> Iterator[None]:
        """Take the clips that the page offers for blends and sets along to another session of the tab."""
        before = self.session.journal
        found = []
        names = request.get("own")
        for name in names[:MOST_OWN] if isinstance(names, list) else []:
            with contextlib.suppress(FootplantError, OSError):
                path = before.find(str(name))
                # the old session's files are removed with its journal
                found += [(other.relative_to(before.files), other.open("rb")) for other in path.parent.iterdir()
                          if other.is_file() and (path.parent != before.files or other == path)]  # fmt: skip
        try:
            yield
            for name, data in found:
                with contextlib.suppress(OSError):
                    self.session.journal.keep_at(name, data)
        finally:
            for _, data in found:
                data.close()

    def path(self, request: Request) -> None:
        """Send the control points of the path, to be dragged."""
        self.send_now({"is": "path", "points": scene.path_points(self.session.state)})

    def open(self, request: Request) -> None:
        """Open another clip in this tab: a sample, or an uploaded file."""
        take, roles = request.get("take"), request.get("roles")
        with self._own_files_kept(request):
            self.session = self.hub.open_in(self.key, self.session, str(request["file"]), self.progress, take, roles)
        self.introduce()

    def recover(self, request: Request) -> None:
        """Continue a session left by a crash."""
        self.session, notes = self.hub.recover_in(self.key, self.session, str(request["journal"]), self.progress)
        self.introduce()
        for text in notes:
            self.send_now({"is": "error", "text": text})

    def forget(self, request: Request) -> None:
        """Remove a journal left by a crash."""
        self.hub.forget(str(request["journal"]), self.session)
        self.introduce()


def new_name(name: str, known: Container[str]) -> str:
    """Return a name for a clip that is not known yet, of a length that messages may have."""
    base = Path(name).name[:48] or "clip"
    return next(own for own in chain([base], (f"{base} {n}" for n in count(2))) if own not in known)


def _changed(before: Motion | None, after: Motion) -> tuple[int, int]:
    """Return the first and last (exclusive) frame at which two motions differ."""
    if before is None or before.rotations.shape != after.rotations.shape or before.skeleton is not after.skeleton:
        return 0, len(after)
    if before is after:
        return 0, 0
    same = (before.rotations == after.rotations).all(axis=(1, 2)) & (before.root == after.root).all(axis=1)
    rows = np.flatnonzero(~same)
    return (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)


_DRAG_FIELDS = {"drag": ("frame", "point", "target", "spacing"), "turn": ("frame", "joint", "rotation", "spacing")}
_HANDLERS: dict[str, Callable[[Connection, Request], None]] = {
    "hello": Connection.hello, "edit": Connection.edit, "go": Connection.go, "drag": Connection.drag,
    "release": Connection.release, "curves": Connection.curves, "quality": Connection.quality,
    "compare": Connection.compare, "open": Connection.open, "recover": Connection.recover,
    "forget": Connection.forget, "drop": Connection.edit, "drive": Connection.drive, "path": Connection.path,
    "actor": Connection.actor, "set": Connection.make_set, "crowd": Connection.crowd,
}  # fmt: skip
