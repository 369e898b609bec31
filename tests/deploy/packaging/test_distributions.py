"""Wheel and source distribution, built without a network: both hold the whole package, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.harness.places import PACKAGES, ROOT

pytestmark = pytest.mark.process

BESIDE = "deploy/packaging/"
"""What is for a checkout or a source distribution: images, charts, units. Only its Python is in the wheel."""

BUILD = """
import sys
from setuptools import build_meta
out = sys.argv[1]
print(build_meta.build_sdist(out), build_meta.build_wheel(out))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """Names of the files in the source distribution and in the wheel."""
    place = tmp_path_factory.mktemp("project")
    for name in (*PACKAGES, "locks", "protos", "src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, place / name, symlinks=True, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, place)
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(out)], cwd=place, capture_output=True, text=True, check=True, timeout=250
    )
    sdist, wheel = done.stdout.splitlines()[-1].split()
    with tarfile.open(out / sdist) as archive:
        of_sdist = {name.partition("/")[2] for name in archive.getnames() if not archive.getmember(name).isdir()}
    with zipfile.ZipFile(out / wheel) as archive:
        of_wheel = set(archive.namelist())
    return of_sdist, of_wheel


def package() -> set[str]:
    """Every file of the package, as ``privity/...``."""
    found = {f"privity/{path.name}" for path in (ROOT / "src/privity").iterdir() if path.is_file()}
    for folder in PACKAGES:
        paths = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        found |= {f"privity/{path.relative_to(ROOT).as_posix()}" for path in paths}
    return found


def test_the_wheel_holds_the_package_and_nothing_else(built: tuple[set[str], set[str]]) -> None:
    _, wheel = built
    inside = {name for name in wheel if ".dist-info/" not in name}
    assert inside == {n for n in package() if not n.startswith(f"privity/{BESIDE}") or n.endswith(".py")}
    assert {name.split("/", 1)[1] for name in wheel - inside} >= {"METADATA", "licenses/LICENSE", "licenses/NOTICE"}


def test_the_source_distribution_holds_the_package_and_what_it_is_built_from(built: tuple[set[str], set[str]]) -> None:
    sdist, _ = built
    beside = {name for name in sdist if not name.startswith("src/privity/")}
    assert {name.removeprefix("src/") for name in sdist - beside} == package()
    assert {name for name in beside if not name.startswith("src/privity.egg-info/")} == {
        "CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "NOTICE", "PKG-INFO", "README.md", "SECURITY.md",
        "locks/all.txt", "locks/audit.txt", "locks/build.txt", "locks/node.txt", "locks/release.txt",
        "protos/common/wire/v1/privity.proto", "pyproject.toml", "setup.cfg",
    }  # fmt: skip
