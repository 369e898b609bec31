"""No image of a process with keys or rows in it is written, whatever takes such images."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SHOWN = "import ctypes, resource; print(ctypes.CDLL(None).prctl(3), *resource.getrlimit(resource.RLIMIT_CORE))"


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_neither_a_file_nor_a_program_gets_an_image() -> None:
    code = f"from privity.common.node.process import dump_no_core; dump_no_core(); {SHOWN}"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["0"] * 3
