"""The editor's server: access control, responses, and robustness against bad input."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra edit is not installed")
pytest.importorskip("uvicorn", reason="the extra edit is not installed")
pytest.importorskip("websockets", reason="the extra edit is not installed")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from editor_env import decode_poses, running_editor
from footplant import samples
from footplant.editor import server, wire
from footplant.editor.hub import Hub

BLOCK = {"kind": "block", "place": [0, 0, 1], "turn": 0, "size": [1, 0.2, 1]}
UPRIGHT = {"Hips": [1, 0, 0, 0]}


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    with running_editor(tmp_path_factory.mktemp("state"), "sample:stand") as running:
        yield running


def ask(editor, path: str, method: str = "GET", body: bytes | None = None, **headers: str):
    """One request, with the path and the headers exactly as given."""
    connection = http.client.HTTPConnection("127.0.0.1", editor.port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


class Tab:
    """A tab that sends the page's messages."""

    def __init__(self, editor, session: str | None = None) -> None:
        self.stack = contextlib.ExitStack()
        self.socket = self.stack.enter_context(connect(editor.socket_address(session), max_size=None, open_timeout=20))
        self.poses: dict[int, np.ndarray] = {}
        self.figure = self.until("figure")
        self.document = self.until("document")

    def hear(self, timeout: float = 60.0):
        message = self.socket.recv(timeout=timeout)
        if isinstance(message, str):
            return json.loads(message)
        if np.frombuffer(message[:4], "<u4")[0] == wire.POSES:
            fields, positions, _ = decode_poses(message)
            if fields["layer"] == wire.CURRENT:
                for n, row in enumerate(positions):
                    self.poses[fields["first"] + n] = row
        return {"is": "bytes"}

    def until(self, *kinds: str):
        while True:
            said = self.hear()
            if said["is"] in kinds:
                return said

    def ask(self, **request) -> None:
        self.socket.send(json.dumps(request))

    def edit(self, **change):
        self.ask(do="edit", edit=change)
        said = self.until("document", "error")
        if said["is"] == "document":
            self.document = said
        return said

    def until_closed(self) -> ConnectionClosed:
        """Receive until the server has closed the connection."""
        try:
            while True:
                self.hear()
        except ConnectionClosed as closed:
            self.stack.close()
            return closed

    def close(self) -> None:
        self.stack.close()


def refusal(address: str, **options) -> int:
    """The status with which a socket is refused."""
    with pytest.raises(InvalidStatus) as refused, connect(address, open_timeout=10, **options):
        pass
    return refused.value.response.status_code


@pytest.fixture
def tab(editor):
    made = Tab(editor)
    yield made
    made.close()


def test_without_the_token_nothing_is_given(editor):
    for path in ("/", "/static/app.js", "/talk", "/wrong/", f"/{editor.token}x/", f"/{editor.token[:-1]}/", "//"):
        assert ask(editor, path)[0] == 403, path
    assert ask(editor, "/wrong/session/x/upload?name=a.bvh", "POST", b"x")[0] == 403
    assert refusal(f"ws://127.0.0.1:{editor.port}/wrong/talk") == 403


def test_another_host_is_refused(editor):
    """A host name that points at this machine (DNS rebinding) is refused."""
    for host in ("evil.example", f"evil.example:{editor.port}", "127.0.0.1", f"127.0.0.1:{editor.port + 1}", ""):
        assert ask(editor, f"/{editor.token}/", Host=host)[0] == 403, host
    assert ask(editor, f"/{editor.token}/", Host=f"localhost:{editor.port}")[0] in (200, 503)
    evil = socket.create_connection(("127.0.0.1", editor.port))
    assert refusal(f"ws://evil.example:{editor.port}/{editor.token}/talk", sock=evil) == 403


def test_another_origin_is_refused(editor):
    for origin in (
        "http://evil.example",
        f"https://127.0.0.1:{editor.port}",
        f"http://localhost:{editor.port}",
        "null",
    ):
        assert ask(editor, f"/{editor.token}/", Origin=origin)[0] == 403, origin
        assert refusal(editor.socket_address(), origin=origin) == 403
    own = f"http://127.0.0.1:{editor.port}"
    assert ask(editor, f"/{editor.token}/", Origin=own)[0] in (200, 503)
    with connect(editor.socket_address(), origin=own, open_timeout=10, max_size=None):  # type: ignore[arg-type]
        pass


def test_nothing_outside_the_page_can_be_named(editor):
    for name in (
        "../server.py", "..%2fserver.py", "%2e%2e/server.py", "%2e%2e%2fserver.py", "..\\server.py", "/etc/passwd",
        "%2fetc%2fpasswd", ".stamp", "nothing.js", "app.js%00", "",
    ):  # fmt: skip
        status, body, _ = ask(editor, f"/{editor.token}/static/{name}")
        assert status == 404, name
        assert b"Guard" not in body
    assert ask(editor, f"/{editor.token}/session/../../x/export")[0] == 404


def test_the_page_is_guarded_by_its_headers(editor):
    _, _, headers = ask(editor, f"/{editor.token}/")
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_listens_on_loopback_only(editor):
    listening = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as file:
            for line in file.readlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == "0A" and int(local.rpartition(":")[2], 16) == editor.port:
                    listening.append((table, local.rpartition(":")[0]))
    assert listening == [("tcp", "0100007F")]
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", editor.port))


def test_a_message_that_is_too_large_closes_the_connection_with_a_reason(editor):
    tab = Tab(editor)
    tab.socket.send(json.dumps({"do": "edit", "edit": {"kind": "x" * 300_000}}))
    closed = tab.until_closed()
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1009
    assert "expected at most" in closed.rcvd.reason
    tab = Tab(editor)
    with contextlib.suppress(ConnectionClosed):
        tab.socket.send("x" * (server.LARGEST_FRAME + 10))
    assert tab.until_closed() is not None


def test_invalid_messages_are_reported_and_survived(editor, tab):
    for text in ("", "{", "[]", "3", '"x"', '{"do": "nothing"}', '{"do": 7}', "[" * 5000):
        tab.socket.send(text)
        assert tab.until("error")["is"] == "error", text
    for request in (
        {"do": "edit"}, {"do": "edit", "edit": 3}, {"do": "edit", "edit": {"kind": "explode"}},
        {"do": "go", "position": 99},
        {"do": "edit", "edit": {"kind": "drag", "frame": 10**9, "point": "left_palm", "target": [0, 0, 0]}},
        {"do": "edit", "edit": {"kind": "pin", "point": "no such", "start": 0, "end": 5}},
        {"do": "edit", "edit": {"kind": "retarget", "character": "../../etc/passwd"}},
        {"do": "drag", "edit": "drag", "frame": 1, "point": "left_palm", "target": ["a", 0, 0]},
        {"do": "open", "file": "/etc/passwd"}, {"do": "recover", "journal": "../.."}, {"do": "curves", "plot": "no"},
        {"do": "drive", "mode": "live", "place": "vmc:0.0.0.0:39539"},
    ):  # fmt: skip
        tab.ask(**request)
        assert tab.until("error")["text"], request
    assert tab.document["history"] == []
    assert tab.edit(kind="objects", objects=[])["is"] == "document"
    other = Tab(editor)
    other.socket.send(b"\x00\x01")
    closed = other.until_closed()
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1003


def test_a_kept_drive_takes_its_ground_along(editor, tab):
    """A character driven over rough ground: the recording is measured and repaired on it."""
    tab.edit(kind="terrain", ground="noise:3")
    tab.ask(do="drive", mode="drive", set="samples")
    tab.until("driving")
    tab.ask(do="steer", keys=["w"])
    for _ in range(90):
        tab.hear()
    tab.ask(do="drive", mode="keep")
    assert tab.until("figure", "error")["clip"] == "recording"
    said = tab.until("document")
    assert said["ground"] == "noise:3"
    assert said["history"] == ["Ground of the recording"]
    assert tab.edit(kind="repair")["is"] == "document"
    assert tab.document["ground"] == "noise:3"
    assert tab.edit(kind="ground", file="recorded/recording.footplant", name="x")["is"] == "error"


def threads_of(process: int) -> int:
    return len(list(Path(f"/proc/{process}/task").iterdir()))


def test_a_crowd_is_kept_as_a_scene_with_its_ground(editor, tab):
    """The open character plays with another one; the clip and its history stay as they are until it is kept."""
    tab.ask(do="crowd", mode="start", scene="open", apart=True)
    roster = tab.until("crowd", "error")
    assert [actor["body"] for actor in roster["actors"]] == ["stand"]
    # bodies without a skin are drawn with one
    actor = 'name = "eve"\ncharacter = "sample:child"\nmotion = "stand"\nplace = [1.0, 0.0]'
    for number, (address, *values) in enumerate((("/crowd/actor", actor), ("/crowd/ground", "slope:5"))):
        tab.ask(do="steer", number=number, say=address, **{"with": values})
        assert tab.until("answer", "error")["wrong"] == ""
    tab.ask(do="steer", number=2, say="/crowd/aim", **{"with": 9 * ["x"]})
    assert tab.until("error")["during"] == "steer"
    assert tab.edit(kind="objects", objects=[])["is"] == "document"
    history = len(tab.document["history"])
    seconds = tab.until("crowd_status")["seconds"]
    while tab.until("crowd_status")["seconds"] < seconds + 1.0:
        pass
    tab.ask(do="crowd", mode="keep")
    assert tab.until("driving", "error")["mode"] == "off"
    assert tab.until("figure", "error")["frames"] > 20
    assert {actor["clip"] for actor in tab.until("cast")["actors"]} == {"stand", "eve"}
    said = tab.until("document")
    assert (said["ground"], said["history"], history) == ("slope:5", ["Ground of the recording"], 1)
    tab.ask(do="crowd", mode="keep")
    assert "start one first" in tab.until("error")["text"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_crowd_ends_with_its_tab(editor):
    counts = []
    for _ in range(3):
        tab = Tab(editor)
        tab.ask(do="crowd", mode="start", scene="open")
        tab.until("crowd_status")
        # whoever drives stops the crowd first
        tab.ask(do="crowd", mode="start", scene="open")
        tab.until("driving")
        tab.until("crowd_status")
        running = threads_of(editor.process.pid)
        tab.close()
        # the worker of the tab and the thread of the crowd end; a thread of the server's pool may begin
        end = time.monotonic() + 20
        while threads_of(editor.process.pid) > running - 1:
            assert time.monotonic() < end
            time.sleep(0.05)
        counts.append(running)
    # a thread that each tab leaves behind would be two more by now
    assert counts[2] <= counts[0] + 1


def test_any_ground_is_packed(tmp_path):
    from footplant.editor.recorded_ground import pack_ground, unpack_ground
    from footplant.geometry import Plane
    from footplant.grounds import Built, Piece, rough

    motion = samples.load("walk").motion
    places = motion.root[::20, ::2]
    step = Piece("block", (0.0, 0.0, 1.0), (4.0, 0.2, 0.6))
    for ground, near in (
        (rough(1, 0.1, 1.0, (-3, -3), (3, 3)), 1e-12), (Plane((0, 0.1, 0), (0.1, 1, 0)), 1e-12), (Built((step,)), 1e-9),
    ):  # fmt: skip
        path = tmp_path / "ground.npz"
        path.write_bytes(pack_ground(ground, motion))
        np.testing.assert_allclose(unpack_ground(path).height(places), ground.height(places), atol=near)


def test_two_tabs_do_not_disturb_each_other(editor, tab):
    other = Tab(editor)
    try:
        assert other.figure["session"] != tab.figure["session"]
        tab.edit(kind="objects", objects=[{"kind": "box", "place": [0, 0, 1], "size": [1, 1, 1]}])
        assert tab.document["history"] == ["Arrange the scene"]
        assert other.edit(kind="nothing")["is"] == "error"
        other.ask(do="hello")
        assert other.until("document")["history"] == []
        # a duplicated tab has its session's key, but gets a session of its own
        copy = Tab(editor, tab.figure["session"])
        assert copy.figure["session"] != tab.figure["session"]
        copy.close()
    finally:
        other.close()


def test_a_reloaded_tab_gets_its_session_back(editor):
    tab = Tab(editor)
    tab.edit(kind="objects", objects=[])
    tab.close()
    again = Tab(editor, tab.figure["session"])
    assert again.document["history"] == ["Arrange the scene"]
    again.close()


def test_of_a_drag_the_latest_target_wins(tab):
    """Many targets are sent at once; the first may be solved, the last is, most between are not."""
    height = tab.figure["character"]["height"]
    for number in range(1, 41):
        target = [0.3, 0.6 * height + 0.002 * number, 0.35]
        tab.ask(do="drag", edit="drag", frame=30, point="left_palm", target=target, spacing=6, seq=number)
    seen = []
    while not seen or seen[-1]["seq"] != 40:
        seen.append(tab.until("dragged"))
    assert len(seen) < 30
    assert seen[-1]["milliseconds"] > 0
    joint = next(point["joint"] for point in tab.figure["character"]["points"] if point["name"] == "left_palm")
    dragged = tab.poses[30][joint].copy()
    tab.ask(do="release")
    assert tab.until("document")["history"] == []
    assert np.linalg.norm(tab.poses[30][joint] - dragged) > 0.01


def test_a_solve_can_be_cancelled(tab):
    tab.ask(do="edit", edit={"kind": "retarget", "character": "sample:sally"})
    tab.ask(do="cancel")
    said = tab.until("note", "document", "figure")
    if said["is"] == "note":
        assert "Cancelled" in said["text"]
        assert tab.until("document")["history"] == []


def test_files_are_uploaded_inspected_and_exported(editor, tab, tmp_path):
    import footplant

    key = tab.figure["session"]
    path = footplant.save(tmp_path / "walk.bvh", samples.load("walk"))
    base = f"/{editor.token}/session/{key}"
    status, body, _ = ask(editor, f"{base}/upload?name=..%2F..%2Fwalk.bvh", "POST", path.read_bytes())
    assert status == 200
    sent = json.loads(body)
    assert (sent["file"], sent["human"]) == ("walk.bvh", True)
    status, body, _ = ask(editor, f"{base}/upload?name=bad.bvh", "POST", b"HIERARCHY\nROOT")
    assert status == 422
    assert "bad.bvh" in json.loads(body)["error"]
    assert str(tmp_path.parent) not in json.loads(body)["error"]
    assert ask(editor, f"{base}/upload?name=x.exe", "POST", b"MZ")[0] == 422
    assert ask(editor, f"/{editor.token}/session/none/upload?name=x.bvh", "POST", b"x")[0] == 404
    tab.ask(do="open", file=sent["file"])
    assert tab.until("figure", "error").get("frames") == len(samples.load("walk").motion)
    tab.until("document")
    for ending, start in ((".bvh", b"HIERARCHY"), (".glb", b"glTF"), (".footplant", b"PK")):
        status, body, headers = ask(editor, f"{base}/export?format={ending[1:]}")
        assert status == 200
        assert body.startswith(start)
        assert headers["content-disposition"].endswith(f'{ending}"')
    assert ask(editor, f"{base}/export?format=exe")[0] == 422


def test_uploads_are_bounded(editor, tab, monkeypatch):
    """The limit applies to received bytes, whatever was announced: tested on the application with a small limit."""
    monkeypatch.setattr(server, "LARGEST_UPLOAD", 1000)
    status, body = run_app("POST", "/token/session/{key}/upload", [b"x" * 600, b"x" * 600])
    assert status == 413
    assert b"at most" in body


def test_without_the_page_it_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "STATIC", tmp_path)
    status, body = run_app("GET", "/token/", [])
    assert status == 503
    assert server.HOW_TO_BUILD.encode() in body


def run_app(method: str, path: str, parts: list[bytes]) -> tuple[int, bytes]:
    """One request to the application without a socket; {key} in the path is a session's."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        hub = Hub("sample:stand", samples.load("stand"), Path(folder))
        key, _ = hub.enter(None)
        app = server.make_app(hub, "token")
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        messages.append({"type": "http.request", "body": b"", "more_body": False})
        sent: list[dict] = []

        async def receive():
            return messages.pop(0)

        async def send(message):
            sent.append(message)

        path = path.replace("{key}", key)
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"name=x.bvh",
            "headers": [(b"host", b"127.0.0.1:1")], "server": ("127.0.0.1", 1), "scheme": "http", "root_path": "",
        }  # fmt: skip
        asyncio.run(app(scope, receive, send))
        hub.close()
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_a_port_in_use_is_one_line(tmp_path):
    import subprocess

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "footplant", "edit", "--no-browser", "--port", str(taken.getsockname()[1])]
        environment = {**os.environ, "FOOTPLANT_STATE": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 2
    assert "cannot be used" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_long_clip_is_streamed_once(tab):
    """All poses come at the beginning, and after a drag only those that it changes."""
    frames = tab.figure["frames"]
    assert sorted(tab.poses) == list(range(frames))
    tab.poses.clear()
    target = [0.3, 1.2, 0.3]
    tab.ask(do="drag", edit="drag", frame=10, point="left_palm", target=target, spacing=1, seq=1)
    tab.until("dragged")
    tab.poses.clear()
    tab.ask(do="drag", edit="drag", frame=10, point="left_palm", target=[0.3, 1.25, 0.3], spacing=1, seq=2)
    tab.until("dragged")
    assert 0 < len(tab.poses) < 0.6 * frames
    tab.ask(do="release")
    tab.until("document")


def test_the_first_poses_come_quickly(editor):
    """Not a benchmark: only that the whole clip is not solved before it is shown."""
    started = time.monotonic()
    Tab(editor).close()
    assert time.monotonic() - started < 20


def test_sixty_attacks_are_refused(editor, tab):
    """Paths, hosts, origins, names, sizes and numbers that no page sends: nothing is done, nothing is told."""
    token, key = editor.token, tab.figure["session"]
    own = f"/{token}/session/{key}"
    over_http = [
        ("GET", "/", {}), ("GET", "/back", {}), ("GET", "/back/", {}), ("GET", "/back/short", {}),
        ("GET", f"/back/{'x' * 65}", {}), ("GET", "/back/../" + token + "x/", {}), ("POST", "/back/" + "a" * 32, {}),
        ("GET", f"/back/{'a' * 32}/../../{token}x/", {}), ("GET", f"/{token}x/", {}), ("GET", f"//{token}/", {}),
        ("GET", f"/{token}/", {"Host": "evil.example"}), ("GET", f"/{token}/", {"Host": "127.0.0.1.evil.example"}),
        ("GET", "/back/" + "a" * 32, {"Host": "evil.example"}), ("GET", f"/{token}/", {"Origin": "null"}),
        ("GET", f"/{token}/", {"Origin": "http://evil.example"}), ("GET", f"/{token}/static/../server.py", {}),
        ("GET", f"/{token}/static/..%2f..%2fserver.py", {}), ("GET", f"/{token}/static/.stamp", {}),
        ("GET", f"/{token}/static/%2e%2e%2fhub.py", {}), ("GET", f"/{token}/session/none/export", {}),
        ("GET", f"/{token}/session/../export", {}), ("GET", f"{own}/export?format=exe", {}),
        ("GET", f"{own}/export?format=../../x", {}), ("GET", f"{own}/export?format=py", {}),
        ("GET", f"{own}/inspect", {}), ("GET", f"{own}/inspect?drop=..", {}), ("GET", f"{own}/inspect?drop=../..", {}),
        ("GET", f"{own}/inspect?drop=/etc", {}), ("GET", f"{own}/inspect?drop=.", {}),
        ("GET", f"{own}/inspect?drop=none", {}), ("GET", f"/{token}/session/none/inspect?drop=x", {}),
        ("POST", f"{own}/upload", {}), ("POST", f"{own}/upload?name=x.exe", {}), ("POST", f"{own}/upload?name=..", {}),
        ("POST", f"{own}/upload?name=x.bvh", {}), ("POST", f"{own}/upload?name=%00.bvh", {}),
        ("POST", f"/{token}/session/none/upload?name=x.bvh", {}), ("GET", f"{own}/upload?name=x.bvh", {}),
        ("POST", f"/{token}/", {}), ("DELETE", f"{own}/export", {}),
    ]  # fmt: skip
    for method, path, headers in over_http:
        status, body, _ = ask(editor, path, method, b"MZ\x00" if method == "POST" else None, **headers)
        assert status in (400, 403, 404, 405, 422), (method, path, headers, status)
        assert token.encode() not in body, path
    edits = [
        {"kind": "terrain", "ground": "stairs:1e9:1e-9:1000000000"}, {"kind": "terrain", "ground": "/etc/passwd"},
        {"kind": "terrain", "ground": "../journal.jsonl"}, {"kind": "terrain", "ground": "noise:nan"},
        {"kind": "retarget", "character": "../journal.jsonl"}, {"kind": "retarget", "character": "a/../../x"},
        {"kind": "retarget", "character": "/etc/passwd"}, {"kind": "retarget", "character": "a/b/c"},
        {"kind": "blend", "clips": ["/etc/passwd"], "weights": [1, 1]}, {"kind": "blend", "clips": "x", "weights": []},
        {"kind": "step"}, {"kind": "step", "id": 10**9}, {"kind": "step", "id": 0, "move": [1e99, 0, 0]},
        {"kind": "step", "id": 0, "do": "explode"},
        {"kind": "step", "do": "add", "foot": "third", "start": 0, "end": 9},
        {"kind": "stack"}, {"kind": "stack", "do": "set", "id": 1, "values": {"kind": "objects"}},
        {"kind": "stack", "do": "delete", "id": 7}, {"kind": "stack", "do": "move", "id": "x", "to": 0},
        {"kind": "trim", "start": -1, "end": 10**9}, {"kind": "retime", "speed": 1e9}, {"kind": "retime", "speed": "x"},
        {"kind": "drag", "frame": 1, "point": "left_palm", "target": [1e300, 0, 0]}, {"kind": ["drag"]}, {},
        {"kind": "pose", "frame": 1, "joints": ["Hips"]}, {"kind": "pose", "frame": -1, "joints": UPRIGHT},
        {"kind": "pose", "frame": 1, "joints": UPRIGHT, "before": 1e9}, {"kind": "place", "move": [1e99]},
        {"kind": "place", "move": [1e99, 0, 0]}, {"kind": "objects", "objects": [BLOCK | {"place": [1e300, 0, 0]}]},
        {"kind": "objects", "objects": [BLOCK | {"kind": "stairs", "count": 10**9}]},
        {"kind": "objects", "objects": [BLOCK | {"size": [1, 1e9, 1]}]}, {"kind": "objects", "objects": 65 * [BLOCK]},
    ]  # fmt: skip
    for edit in edits:
        tab.ask(do="edit", edit=edit)
        assert tab.until("error")["text"], edit
    requests = [
        {"do": "open", "file": "../../etc/passwd"}, {"do": "open", "file": "a/b/c"}, {"do": "open", "file": ""},
        {"do": "recover", "journal": "../../x"}, {"do": "forget", "journal": "/"}, {"do": "drive", "mode": "keep"},
        {"do": "drive", "mode": "live", "place": "vmc:0.0.0.0:39539"},
        {"do": "actor", "what": "add", "file": "../../etc/passwd"}, {"do": "actor", "what": "edit", "id": "../x"},
        {"do": "actor", "what": "remove", "id": tab.figure["session"]}, {"do": "actor"},
        {"do": "compare", "a": "history:-1", "b": "current"}, {"do": "compare", "a": "without:99", "b": "current"},
        {"do": "drag", "edit": "step", "id": 10**6, "move": [0, 0, 0]}, {"do": "drag", "edit": "method"},
        {"do": "crowd"}, {"do": "crowd", "mode": "explode"}, {"do": "crowd", "mode": "keep"},
        {"do": "crowd", "mode": "start", "scene": "../fight"}, {"do": "crowd", "mode": "start", "scene": ["fight"]},
        {"do": "crowd", "mode": "start", "scene": "open", "clips": [{"file": "/etc/passwd"}]},
        {"do": "crowd", "mode": "start", "scene": "open", "clips": 99 * ["current"]},
        {"do": "crowd", "mode": "declare", "clips": []},
    ]  # fmt: skip
    for request in requests:
        tab.ask(**request)
        assert tab.until("error")["text"], request
    assert len(over_http) + len(edits) + len(requests) >= 60
    tab.ask(do="hello")
    assert tab.until("document")["history"] == []


def test_uploads_have_a_quota_and_leave_nothing_behind(monkeypatch):
    """Parts are written as they come; a file beyond the quota of its session is removed."""
    from footplant.editor import journal

    monkeypatch.setattr(journal, "QUOTA", 1000)
    status, body = run_app("POST", "/token/session/{key}/upload", [b"x" * 600, b"x" * 600])
    assert status == 413
    assert b"at most" in body


def test_an_old_tab_can_tell_its_server_from_another_program(editor):
    import hashlib

    nonce = "0123456789abcdef" * 2
    status, body, _ = ask(editor, f"/back/{nonce}")
    assert status == 200
    assert body.decode() == hashlib.sha256(f"{nonce}:{editor.token}".encode()).hexdigest()


def test_the_page_is_packed_where_the_browser_accepts_it(editor):
    status, body, headers = ask(editor, f"/{editor.token}/static/app.js", **{"Accept-Encoding": "gzip"})
    if status == 404:
        pytest.skip("the page is not built: python hatch_build.py")
    assert headers["content-encoding"] == "gzip"
    assert len(body) < 500_000
    _, plain, headers = ask(editor, f"/{editor.token}/static/app.js")
    assert "content-encoding" not in headers
    assert len(plain) > len(body)
