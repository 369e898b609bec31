"""Generate the protobuf and gRPC code from ``protos/``; run from the repository's root.

The generated files are committed, so that nothing has to be built to run Privity; a test runs this
into a scratch folder and compares messages and services with what is committed.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

PROTO = "common/wire/v1/privity.proto"
PACKAGE = "common.wire.v1"
"""The package on the wire. Its Python modules stand below ``privity``."""


def generate(out: Path) -> None:
    """Write ``privity_pb2.py``, ``.pyi`` and ``privity_pb2_grpc.py`` below ``out``."""
    from grpc_tools import protoc

    well_known = str(files("grpc_tools") / "_proto")
    arguments = ["protoc", "-Iprotos", f"-I{well_known}"]
    arguments += [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main([*arguments, PROTO]) != 0:
        raise SystemExit("protoc failed")
    for file in (out / PROTO).parent.glob("privity_pb2*.py"):
        code = file.read_text(encoding="utf-8")
        for name in (f"from {PACKAGE} import", f"'{PACKAGE}.privity_pb2'"):
            code = code.replace(name, name.replace(PACKAGE, f"privity.{PACKAGE}"))
        file.write_text(code, encoding="utf-8")


if __name__ == "__main__":
    generate(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
