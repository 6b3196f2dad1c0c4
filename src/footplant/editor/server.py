"""The page's server: loopback only, a token in the address, Host and Origin checks, limits on all sizes.

The rules are Jupyter's: whoever has the address may edit, nobody else, and no other site in the same browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import hmac
import json
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplant.editor.hub import Hub
from footplant.editor.journal import QUOTA, private_folder, state_folder
from footplant.editor.opening import inspect, inspect_drop
from footplant.errors import FootplantError, FormatError, MissingExtraError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

STATIC = Path(__file__).resolve().parent / "static"
LARGEST_UPLOAD = 512 * 2**20
"""Largest upload, bytes."""
LARGEST_FRAME = 2**20
"""Largest WebSocket frame, bytes; `connection.LARGEST_MESSAGE` closes with a reason before."""
KEPT_ADDRESS = 7 * 86400
"""Seconds after which the address of an earlier run is not used again."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOW_TO_BUILD = "python hatch_build.py"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml",
         ".txt": "text/plain"}  # fmt: skip
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self' ws://127.0.0.1:* ws://localhost:*; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class Guard:
    """Middleware that requires the token, a loopback Host, and the editor's own Origin."""

    def __init__(self, app: Asgi, token: str) -> None:
        """Wrap an application."""
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Refuse or forward a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        reason = self.refusal(scope)
        if reason is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": f"{reason}\n".encode()})

    def refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused; None when it is not."""
        headers = [(name.lower(), value) for name, value in scope["headers"]]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        server = scope.get("server") or ("", 0)
        if len(hosts) != 1 or hosts[0] not in {f"{name}:{server[1]}" for name in LOOPBACK}:
            return "expected this machine's own address as Host"
        for name, value in headers:
            if name == b"origin" and value.decode("latin-1") != f"http://{hosts[0]}":
                return "expected the editor's own page as Origin"
        given = scope["path"].split("/")[1]
        if scope["type"] == "http" and given == "back":
            # gives a proof away and nothing else
            return None
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return "expected the address with its token, as printed by footplant edit"
        return None


def make_app(hub: Hub, token: str) -> Asgi:
    """Return the application."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route, WebSocketRoute
    except ImportError:
        raise MissingExtraError("starlette", "edit", "the editor") from None

    base = f"/{token}"
    app: Starlette = Starlette(
        routes=[
            Route(f"{base}/", _page),
            Route(f"{base}/static/{{name}}", _static),
            Route(f"{base}/session/{{key}}/upload", _upload, methods=["POST"]),
            Route(f"{base}/session/{{key}}/inspect", _inspect),
            Route("/back/{nonce}", _back),
            Route(f"{base}/session/{{key}}/export", _export),
            WebSocketRoute(f"{base}/talk", _connect),
        ]
    )
    app.state.hub, app.state.token = hub, token
    return Guard(app, token)


async def _page(request: Request) -> Response:
    from starlette.responses import PlainTextResponse

    if not (STATIC / "index.html").is_file() or not (STATIC / "app.js").is_file():
        text = (
            "The editor's page is not built, because Node was not available when Footplant was installed.\n"
            f"Install Node (https://nodejs.org) and run in Footplant's folder: {HOW_TO_BUILD}\n"
            "or reinstall Footplant from a wheel, which includes it.\n"
        )
        return PlainTextResponse(text, 503, HEADERS)
    return _file("index.html", _accepts_gzip(request))


async def _static(request: Request) -> Response:
    return _file(request.path_params["name"], _accepts_gzip(request))


def _file(name: str, packed: bool = False) -> Response:
    from starlette.responses import PlainTextResponse, Response

    # names are compared with the folder's files, so that nothing outside it can be read
    known = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES} if STATIC.is_dir() else {}
    if name not in known:
        return PlainTextResponse("no such file\n", 404, HEADERS)
    data, kind = known[name].read_bytes(), TYPES[known[name].suffix]
    if not packed or len(data) < 2000:
        return Response(data, 200, HEADERS, kind)
    return Response(_packed(data), 200, {**HEADERS, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}, kind)


@lru_cache(maxsize=16)
def _packed(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def _accepts_gzip(request: Request) -> bool:
    words = ",".join(request.headers.getlist("accept-encoding")).lower().replace(" ", "").split(",")
    return any(word.partition(";")[0] == "gzip" and not word.endswith(";q=0") for word in words)


async def _upload(request: Request) -> Response:
    """Stream a file to disk; nothing is read before all of it is there, and no more than the limits allow."""
    from starlette.responses import JSONResponse

    hub: Hub = request.app.state.hub
    session = hub.session(request.path_params["key"])
    name, drop = request.query_params.get("name", ""), request.query_params.get("drop", "")
    if session is None or not name:
        return JSONResponse({"error": "expected a session and a file name"}, 404, HEADERS)
    try:
        room = min(await asyncio.to_thread(session.journal.room), LARGEST_UPLOAD)
        path = session.journal.new_upload(name, drop)
    except FootplantError as error:
        return JSONResponse({"error": str(error)}, 422, HEADERS)
    kept = False
    try:
        with path.open("wb") as file:
            async for part in request.stream():
                room -= len(part)
                if room < 0:
                    text = f"expected a file of at most {LARGEST_UPLOAD >> 20} MiB and all of them {QUOTA >> 20} MiB"
                    return JSONResponse({"error": f"{text}, got more"}, 413, HEADERS)
                await asyncio.to_thread(file.write, part)
        if drop:
            kept = True
            return JSONResponse({"file": f"{path.parent.name}/{path.name}"}, 200, HEADERS)
        facts = await asyncio.to_thread(inspect, path)
        kept = True
    except FootplantError as error:
        return JSONResponse({"error": str(error).replace(f"{session.journal.files}/", "")}, 422, HEADERS)
    finally:
        # also when the page goes away in the middle
        if not kept:
            path.unlink(missing_ok=True)
    return JSONResponse({"file": path.name, **facts}, 200, HEADERS)


async def _inspect(request: Request) -> Response:
    """Return what files that were dropped together hold."""
    from starlette.responses import JSONResponse

    hub: Hub = request.app.state.hub
    session, drop = hub.session(request.path_params["key"]), request.query_params.get("drop", "")
    folder = None if session is None else session.journal.files / Path(drop).name
    if folder is None or not drop or drop.startswith(".") or not folder.is_dir():
        return JSONResponse({"error": "expected a session and files that were dropped"}, 404, HEADERS)
    return JSONResponse({"files": await asyncio.to_thread(inspect_drop, folder)}, 200, HEADERS)


async def _back(request: Request) -> Response:
    """Prove to a tab of an earlier run that this is its server, before the tab says its token."""
    from starlette.responses import PlainTextResponse

    nonce = request.path_params["nonce"]
    if not 16 <= len(nonce) <= 64:
        return PlainTextResponse("expected a nonce\n", 400, HEADERS)
    proof = hashlib.sha256(f"{nonce}:{request.app.state.token}".encode()).hexdigest()
    return PlainTextResponse(proof, 200, HEADERS)


async def _export(request: Request) -> Response:
    from starlette.responses import PlainTextResponse, Response

    from footplant.editor.files import export

    hub: Hub = request.app.state.hub
    session = hub.session(request.path_params["key"])
    if session is None:
        return PlainTextResponse("no such session\n", 404, HEADERS)
    ending = f".{request.query_params.get('format', 'glb').lstrip('.')}"
    try:
        name, data = await asyncio.to_thread(export, session, ending, hub.others(request.path_params["key"]))
    except FootplantError as error:
        return PlainTextResponse(f"{error}\n", 422, HEADERS)
    if ending == ".footplant":
        for saved in (session, *hub.others(request.path_params["key"])):
            saved.mark_saved()
    ascii_name = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in name)
    return Response(
        data,
        200,
        {**HEADERS, "Content-Disposition": f'attachment; filename="{ascii_name}"'},
        "application/octet-stream",
    )


async def _connect(socket: WebSocket) -> None:
    from footplant.editor.connection import Connection

    hub: Hub = socket.app.state.hub
    await socket.accept()
    wanted = socket.query_params.get("session")
    for _ in range(20):
        # a reloaded page reconnects before the server has noticed that it was gone
        tab = hub.tabs.get(wanted or "")
        if tab is None or not tab.connected:
            break
        await asyncio.sleep(0.05)
    try:
        key, session = await asyncio.to_thread(hub.enter, wanted)
    except FootplantError as error:
        await socket.send_json({"is": "error", "text": str(error)})
        await socket.close(1011, "the clip could not be prepared")
        return
    try:
        await Connection(hub, socket, key, session).run()
    finally:
        hub.leave(key)


def open_socket(port: int) -> socket.socket:
    """Return a socket that listens on loopback only; port 0 chooses a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise FormatError(f"port {port} cannot be used: {error.strerror or error}; try --port 0") from error
    listener.listen(64)
    return listener


def new_token() -> str:
    """Return a random access token."""
    return secrets.token_urlsafe(24)


def _address_file(source: str) -> Path:
    """Return where the last address of the editor of a clip is kept."""
    return state_folder() / f"address-{hashlib.sha256(source.encode()).hexdigest()[:16]}.json"


def listen(source: str, port: int) -> tuple[socket.socket, str]:
    """Return a listening socket and a token: for port 0 those of the last run of a clip, if its port is free.

    A tab that is still open then finds its way back. The token is kept for a week in a file that only this user reads.
    """
    known = _last_address(source)
    if known is not None and port in (0, known["port"]):
        with contextlib.suppress(FormatError):
            return open_socket(known["port"]), known["token"]
    listener, token = open_socket(port), new_token()
    with contextlib.suppress(OSError):
        path = _address_file(source)
        private_folder(path.parent)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"port": listener.getsockname()[1], "token": token}, file)
    return listener, token


def _last_address(source: str) -> dict[str, Any] | None:
    path = _address_file(source)
    try:
        if time.time() - path.stat().st_mtime > KEPT_ADDRESS:
            return None
        known = json.loads(path.read_text(encoding="utf-8"))
        port, token = known["port"], known["token"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return known if isinstance(port, int) and isinstance(token, str) and len(token) >= 32 else None


@contextlib.contextmanager
def opening_page(address: str) -> Iterator[str]:
    """Write a page that leads to an address, for a browser to open; yield its file address.

    The address has the token in it, and the command line of a browser can be read by every user of the machine.
    """
    private_folder(state_folder())
    path = state_folder() / f"open-{secrets.token_hex(8)}.html"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(
                f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
                f'<title>Footplant</title><a href="{address}">The editor</a>\n'
            )
        yield path.as_uri()
    finally:
        path.unlink(missing_ok=True)


def serve(hub: Hub, listener: socket.socket, token: str, started: Callable[[str], None] = lambda address: None) -> None:
    """Serve until interrupted; `started` is called with the address when the server is ready."""
    try:
        import uvicorn
        import websockets  # noqa: F401  uvicorn uses it for the page's socket
    except ImportError as error:
        raise MissingExtraError(error.name or "uvicorn", "edit", "the editor") from None

    app = make_app(hub, token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="websockets-sansio", ws_max_size=LARGEST_FRAME, lifespan="off",
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = uvicorn.Server(config)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            started(address)
            # detect the clip's footplants while the browser loads the page; errors are reported to the tab
            with contextlib.suppress(FootplantError):
                await asyncio.to_thread(hub.prepare)
        await serving

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    finally:
        hub.close()
