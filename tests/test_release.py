"""What a release needs: one version, a README that a package index can show, workflows for three systems."""

from __future__ import annotations

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

import footplant

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORKFLOWS = ROOT / ".github"
LINK = re.compile(r"(!?)\[[^\[\]]*\]\(([^()\s]+)\)")


@pytest.fixture(scope="module")
def build():
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_is_one_version():
    version = footplant.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "version" in PROJECT["dynamic"]


def test_description_for_a_package_index_has_absolute_links(build):
    found = LINK.findall(build.description(README, "https://example.org/us/footplant", "v9"))
    assert len(found) == len(LINK.findall(README))
    assert all(target.startswith(("https:", "#")) for _, target in found)
    pictures = [target for mark, target in found if mark]
    prefix = "https://example.org/us/footplant/raw/v9/"
    assert pictures
    for target in pictures:
        assert (ROOT / target.removeprefix(prefix)).is_file(), target


def test_description_without_an_address_has_no_dead_links(build):
    text = build.description(README, "", "v9")
    assert not [target for _, target in LINK.findall(text) if not re.match("https?:|#", target)]
    assert "![" not in text


FORMS = """[![words](docs/a.png)](docs/a.md) ![x](docs/b.gif) <img width="9" src="docs/c.png" alt="c">
<img src='docs/d.png'/>
<a href="docs/e.md"><img src="docs/e.png"></a> ![far](https://far.org/f.png) [here](#here)"""


def test_pictures_of_every_form_get_absolute_addresses(build):
    text = build.description(FORMS, "https://example.org/us/it", "v9")
    found = re.findall(r"(?:\]\(|src=[\"']|href=[\"'])([^)\"']+)", text)
    raw, blob = "https://example.org/us/it/raw/v9/docs/", "https://example.org/us/it/blob/v9/docs/"
    assert found == [
        raw + "a.png", blob + "a.md", raw + "b.gif", raw + "c.png", raw + "d.png", blob + "e.md", raw + "e.png",
        "https://far.org/f.png", "#here",
    ]  # fmt: skip
    without = build.description(FORMS, "", "v9")
    assert re.findall(r"(?:\]\(|src=[\"']|href=[\"'])([^)\"']+)", without) == ["https://far.org/f.png", "#here"]
    assert "docs/" not in without


def test_built_metadata_has_no_picture_without_an_address(build, monkeypatch):
    monkeypatch.setenv("FOOTPLANT_ADDRESS", "https://example.org/us/footplant/")
    metadata = {"version": "9.0"}
    build.Metadata.update(None, metadata)
    text = metadata["readme"]["text"]
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)|<img\b[^>]*\bsrc=[\"']([^\"']+)", text)
    assert len(pictures) >= 2
    assert all("".join(each).startswith("https://example.org/us/footplant/raw/v9.0/docs/") for each in pictures)


def test_links_of_the_pages_for_contributors_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md"):
        for _, target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            assert re.match("https?:|#", target) or (ROOT / target.partition("#")[0]).exists(), f"{page}: {target}"


@pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="a source archive has no workflows")
def test_workflows_cover_systems_pythons_and_the_oldest_numba():
    matrix = yaml.safe_load((WORKFLOWS / "workflows" / "test.yml").read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == supported
    oldest = next(re.search(r">=([\d.]+)", each) for each in PROJECT["dependencies"] if each.startswith("numba"))
    assert oldest is not None
    assert any(oldest[1] in extra["numba"] for extra in matrix["include"])
    for path in sorted(WORKFLOWS.rglob("*.yml")):
        assert isinstance(yaml.safe_load(path.read_text()), dict), path
