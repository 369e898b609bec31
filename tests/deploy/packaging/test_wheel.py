"""What users install: a wheel made from the sdist, beside a package of somebody else's that is called ``common``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.harness.places import PACKAGES, ROOT

pytestmark = pytest.mark.process

LEFT_OUT = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "docs", "tests", "benchmarks")
SCHEMA = {"fields": [{"name": "smokes", "type": "string", "categories": ["no", "yes"]}]}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=200,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, sources: Path, out: Path) -> Path:
    """The sdist or the wheel of these sources."""
    code = f"import sys; from setuptools import build_meta as b; b.build_{kind}(sys.argv[1])"
    run(sys.executable, "-c", code, out, cwd=sources)
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    checkout = shutil.copytree(ROOT, place / "checkout", symlinks=True, ignore=LEFT_OUT)
    shutil.unpack_archive(build("sdist", checkout, place / "sdist"), place)
    (sources,) = place.glob("privity-*")
    assert not [path for path in sources.rglob("*") if path.is_symlink()], (
        "where there are no links, this could not be built"
    )
    return build("wheel", sources, place / "dist")


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, the installed dependencies, and another's ``common``."""
    place = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", place / "env", cwd=place)
    run(sys.executable, "-m", "pip", "--python", place / "env", "install", "--no-deps", "--no-index", wheel, cwd=place)
    (packages,) = (place / "env").glob("lib/python*/site-packages")
    # A path in a .pth file brings packages, and not what the .pth files there bring: the checkout is not among them.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    (packages / "common.py").write_text("mine = True\n")
    return place


def test_the_wheel_has_one_import_name(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"privity"}
    for folder in PACKAGES:
        kept = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*.py")}
        assert kept <= {name.removeprefix("privity/") for name in names}


@pytest.mark.long
def test_a_release_is_made_where_another_package_is_called_common(environment: Path) -> None:
    python = environment / "env" / "bin" / "python"
    found = run(python, "-c", "import common, privity.common; print(common.mine, privity.__file__)", cwd=environment)
    assert found.split() == [
        "True",
        str(next((environment / "env").glob("lib/python*/site-packages/privity/__init__.py"))),
    ]
    (environment / "schema.json").write_text(json.dumps(SCHEMA))
    (environment / "rows.csv").write_text("smokes\n" + "no\nyes\n" * 50)
    privity = environment / "env" / "bin" / "privity"
    run(privity, "population", "declare", "people", "--total-epsilon", "5", cwd=environment)
    run(
        privity, "synthesize", "--data", "rows.csv", "--schema", "schema.json", "--algorithm", "independent",
        "--epsilon", "1", "--population", "people", "--out", "release", cwd=environment,
    )  # fmt: skip
    assert (environment / "release" / "synthetic.csv").read_text().startswith("smokes\n")


def test_the_package_alone_loads_nothing_heavy() -> None:
    code = "import sys, privity; print(*{'numpy', 'pandas', 'grpc', 'privity.common'} & set(sys.modules))"
    assert run(sys.executable, "-c", code, cwd=ROOT).split() == []
