"""The committed protobuf and gRPC code is what the committed ``.proto`` gives."""

import ast
import re
import sys

import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from privity.common.wire import generate_code
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from tests.harness.places import ROOT

COMMITTED = ROOT / "common" / "wire" / "v1"
METHODS = {
    "PartyLink": ["NextStep", "SendReply", "Alive", "GetManifest", "Fetch", "Publish", "Statements"],
    "Operator": ["Submit", "Watch", "Fetch", "Stop", "Resume", "List", "Why", "GetManifest", "GetLimits", "GetParties"],
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        generate_code.generate(folder)
    return folder / "common" / "wire" / "v1"


def serialized_file(path):
    """The file descriptor inside generated code, without importing it into the descriptor pool."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    found = [c.args[0].value for c in calls if getattr(c.func, "attr", "") == "AddSerializedFile"]
    assert len(found) == 1
    return descriptor_pb2.FileDescriptorProto.FromString(found[0])


def called_paths(path):
    return sorted(set(re.findall(r"'(/common\.wire\.v1\.[A-Za-z]+/[A-Za-z]+)'", path.read_text())))


def test_generation_gives_the_three_files(generated):
    names = {"privity_pb2.py", "privity_pb2.pyi", "privity_pb2_grpc.py"}
    assert {file.name for file in generated.iterdir()} == names
    assert names <= {file.name for file in COMMITTED.iterdir()}


def test_committed_messages_are_those_of_the_proto(generated):
    assert serialized_file(COMMITTED / "privity_pb2.py") == serialized_file(generated / "privity_pb2.py")
    imported = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(imported)
    assert imported == serialized_file(generated / "privity_pb2.py")


def test_committed_messages_are_those_that_the_compiler_describes(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    out = tmp_path / "set.pb"
    assert protoc.main(["protoc", "-Iprotos", f"--descriptor_set_out={out}", generate_code.PROTO]) == 0
    described = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
    for file in (described, committed := serialized_file(COMMITTED / "privity_pb2.py")):
        for message in file.message_type:
            for field in message.field:
                field.ClearField("json_name")  # derived from the name; only one of the two writes it out
    assert described == committed


def test_committed_types_are_those_of_the_proto(generated):
    def public_names(path):
        classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
        return {c.name: [s.target.id for s in c.body if isinstance(s, ast.AnnAssign)] for c in classes}

    assert public_names(COMMITTED / "privity_pb2.pyi") == public_names(generated / "privity_pb2.pyi")


def test_committed_services_are_those_of_the_proto(generated):
    assert called_paths(COMMITTED / "privity_pb2_grpc.py") == called_paths(generated / "privity_pb2_grpc.py")
    services = {s.name: [m.name for m in s.methods] for s in pb.DESCRIPTOR.services_by_name.values()}
    assert services == METHODS
    assert called_paths(COMMITTED / "privity_pb2_grpc.py") == sorted(
        f"/common.wire.v1.{service}/{method}" for service, methods in METHODS.items() for method in methods
    )
    for service, methods in METHODS.items():
        servicer = getattr(rpc, f"{service}Servicer")
        assert all(callable(getattr(servicer, method)) for method in methods)


def test_generated_imports_are_right_without_patching(generated):
    text = (generated / "privity_pb2_grpc.py").read_text()
    assert "from privity.common.wire.v1 import privity_pb2" in text
    assert sys.modules["privity.common.wire.v1.privity_pb2"] is pb
