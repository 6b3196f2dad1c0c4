"""The page's server: loopback only, a token in the address, Host and Origin checks, limits on all sizes.

The rules are Jupyter's: whoever has the address may edit, nobody else, and no other site in the same browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplant.editor.hub import Hub
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
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOW_TO_BUILD = "python hatch_build.py"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml",
         ".txt": "text/ascii_name"}  # fmt: skip
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
            head = [(b"content-type", b"text/ascii_name; charset=utf-8"), (b"cache-control", b"no-store")]
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
            Route(f"{base}/session/{{key}}/export", _export),
            WebSocketRoute(f"{base}/talk", _connect),
        ]
    )
    app.state.hub = hub
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
    return _file("index.html")


async def _static(request: Request) -> Response:
    return _file(request.path_params["name"])


def _file(name: str) -> Response:
    from starlette.responses import PlainTextResponse, Response

    # names are compared with the folder's files, so that nothing outside it can be read
    known = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES} if STATIC.is_dir() else {}
    if name not in known:
        return PlainTextResponse("no such file\n", 404, HEADERS)
    return Response(known[name].read_bytes(), 200, HEADERS, TYPES[known[name].suffix])


async def _upload(request: Request) -> Response:
    from starlette.responses import JSONResponse

    hub: Hub = request.app.state.hub
    session = hub.session(request.path_params["key"])
    name = request.query_params.get("name", "")
    if session is None or not name:
        return JSONResponse({"error": "expected a session and a file name"}, 404, HEADERS)
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_UPLOAD:
            text = f"expected a file of at most {LARGEST_UPLOAD >> 20} MiB, got more"
            return JSONResponse({"error": text}, 413, HEADERS)
    kept = await asyncio.to_thread(session.journal.keep, name, bytes(data))
    try:
        facts = await asyncio.to_thread(_inspect, session.journal.files / kept)
    except FootplantError as error:
        (session.journal.files / kept).unlink(missing_ok=True)
        return JSONResponse({"error": str(error).replace(str(session.journal.files) + "/", "")}, 422, HEADERS)
    return JSONResponse({"file": kept, **facts}, 200, HEADERS)


def _inspect(path: Path) -> dict[str, Any]:
    """Return facts about an upload: its frames, and whether it is a humanoid."""
    from footplant.io import load
    from footplant.io.constraint_files import EXTENSIONS

    if path.suffix.lower() in EXTENSIONS and path.suffix.lower() != ".footplant":
        raise FormatError(f"expected a clip or a character, got {path.suffix}", path=path.name)
    clip = load(path)
    return {"frames": len(clip.motion), "human": clip.character.roles is not None, "takes": len(clip.takes),
            "skinned": clip.character.skin is not None, "name": clip.character.name}  # fmt: skip


async def _export(request: Request) -> Response:
    from starlette.responses import PlainTextResponse, Response

    from footplant.editor.files import export

    hub: Hub = request.app.state.hub
    session = hub.session(request.path_params["key"])
    if session is None:
        return PlainTextResponse("no such session\n", 404, HEADERS)
    ending = f".{request.query_params.get('format', 'glb').lstrip('.')}"
    try:
        name, data = await asyncio.to_thread(export, session, ending)
    except FootplantError as error:
        return PlainTextResponse(f"{error}\n", 422, HEADERS)
    if ending == ".footplant":
        session.mark_saved()
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
