"""Every parser of what somebody else wrote, and bytes of any length that are dear for some parser somewhere."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from privity.common import formats
from privity.common.consortium.invitation import read_invite, read_join
from privity.common.consortium.manifest import open_manifest
from privity.common.crypto.certificates import identity_from_san
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.common.formats.line_numbers import json_lines
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.budget import exact_number
from privity.common.privacy.ledger_lines import Line
from privity.common.protocol.run_spec import check_run_name
from privity.common.protocol.transcript import open_transcript
from privity.common.runs.published_limits import PublishedLimits
from privity.common.runs.run_request import parse_request
from privity.common.storage.canonical_json import fraction, parse
from privity.common.synthesis.models.load_model import load_model
from privity.common.text.secret_texts import holds_secret
from privity.common.text.short_values import shorten
from privity.common.text.visible import in_line, in_lines
from privity.common.wire.codec import MalformedMessageError, decode_reply, decode_step
from privity.common.wire.v1 import privity_pb2 as pb
from privity.release_sources import fetch_release

REFUSALS = (PrivityError, ValueError, MalformedMessageError)
"""How a parser says no. Whatever else it raises is a fault of its own."""

FORMATS = sorted(
    file.name.removesuffix(".schema.json")
    for file in resources.files("privity.common.formats").iterdir()
    if file.name.endswith(".schema.json")
)
ONE_FIELD = {"fields": [{"name": "a", "type": "string", "categories": ["x", "y"]}]}
NOBODY = Ed25519PublicKey.from_public_bytes(bytes(32))

Parser = Callable[[bytes], object]


def _of_format(name: str) -> Parser:
    return lambda data: formats.check(formats.parse_json(data, "f"), name, "f")


def _of_text(read: Callable[[str], object]) -> Parser:
    return lambda data: read(data.decode())


def _of_document(read: Callable[[Any], object]) -> Parser:
    return lambda data: read(formats.parse_json(data, "f"))


def _of_file(read: Callable[[Path], object], name: str) -> Parser:
    def parser(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(data)
            return read(Path(folder) / name)

    return parser


def _unpacked(file: Path) -> None:
    target = file.with_suffix(".d")
    target.mkdir()
    fetch_release(str(file), target)


def _zip_of(data: bytes) -> bytes:
    """A ZIP file whose members have the text for names, a hundred bytes each."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as out:
        for place in range(0, len(data), 100):
            out.writestr(zipfile.ZipInfo(data[place : place + 100].decode("latin-1") or "x"), b"")
    return packed.getvalue()


def parsers() -> dict[str, Parser]:
    """By name."""
    found: dict[str, Parser] = {
        "json": lambda data: formats.parse_json(data, "f"),
        "json lines": lambda data: json_lines(json.dumps(formats.parse_json(data, "f"), default=str)),
        "canonical json": parse,
        "run request": parse_request,
        "schema": _of_document(lambda document: parse_schema(document, "f")),
        "manifest": _of_document(lambda document: open_manifest(document, NOBODY, "f")),
        "transcript": _of_document(lambda document: open_transcript(document, "f")),
        "published limits": lambda data: PublishedLimits.opened(data, None),  # type: ignore[arg-type]
        "model": _of_document(lambda document: load_model(document, None, "f")),  # type: ignore[arg-type]
        "invite": _of_file(lambda file: read_invite(file, "party"), "invite.json"),
        "join": _of_file(read_join, "join.json"),
        "toml": _of_file(lambda file: read_toml(file, "policy"), "f.toml"),
        "release in a ZIP": lambda data: _of_file(_unpacked, "release.zip")(_zip_of(data)),
        "file that is no ZIP": _of_file(_unpacked, "release.zip"),
        "step": decode_step,
        "reply": decode_reply,
        "model in a reply": lambda data: decode_reply(pb.Reply(learned=pb.Learned(model=data)).SerializeToString()),
        "enrolment in a reply": lambda data: decode_reply(
            pb.Reply(enrolled=pb.Enrolled(enrolment=data)).SerializeToString()
        ),
        "epsilon": _of_text(exact_number),
        "fraction": _of_text(fraction),
        "name of a run": _of_text(check_run_name),
        "name in a certificate": lambda data: identity_from_san([b"privity:party/" + data]),
        "rule": _of_text(lambda text: parse_schema({**ONE_FIELD, "rowConstraints": [text]}, "f")),
        "line of a ledger": _of_text(
            lambda text: Line(0, 1, "charge", "", "r", "s", text, text, text, text, "").check()
        ),
        "what may be a password": _of_text(holds_secret),
        "what is repeated": _of_text(shorten),
        "what is shown": _of_text(lambda text: in_line(text) + in_lines(text)),
    }
    return found | {f"format {name}": _of_format(name) for name in FORMATS}


def _repeated(text: str, size: int) -> str:
    return text * (size // len(text))


def _keys(size: int, *, doubled: int = 0) -> str:
    keys = [f'"{number:x}":0' for number in range(size // 9)]
    return "{" + ",".join([*keys, *keys[len(keys) - doubled :]]) + "}"


def _everywhere(value: Callable[[int], str], size: int, name: str) -> str:
    """A document of a format whose members all have this value."""
    members = [key for key in formats.load(name)["properties"] if key != "format_version"]
    share = size // len(members)
    return "{" + ",".join(['"format_version":1', *(f'"{key}":{value(share)}' for key in members)]) + "}"


def _mixed(size: int) -> str:
    return "[" + ",".join(f'{number},"{number}"' for number in range(size // 12)) + "]"


def _colliding(size: int) -> str:
    """Numbers of one hash in CPython."""
    return "[" + ",".join(str(number * (2**61 - 1)) for number in range(1, size // 22)) + "]"


def _objects(size: int) -> str:
    return "[" + ",".join(f'{{"name":"{number}","type":{number},"x":[]}}' for number in range(size // 32)) + "]"


def _long_key(size: int) -> str:
    """Many faults below one long name."""
    return json.dumps({"k" * (size // 2): [[]] * (size // 8)})


SHAPES: dict[str, Callable[[int], str]] = {
    "one key twice": lambda size: _keys(size, doubled=1),
    "all keys twice": lambda size: _keys(size // 2, doubled=size // 18),
    "unknown keys": _keys,
    "deep arrays": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "deep objects": lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6),
    "unclosed arrays": lambda size: "[" * size,
    "unclosed objects": lambda size: _repeated('{"a":', size),
    "digits": lambda size: "9" * size,
    "many long numbers": lambda size: "[" + ",".join(["9" * 390] * (size // 391)) + "]",
    "exponents": lambda size: "[" + ",".join(["1e399"] * (size // 6)) + "]",
    "an endless exponent": lambda size: "1e" + "9" * size,
    "decimals": lambda size: "0." + "1" * size,
    "a fraction": lambda size: "1/" + "3" * (size // 2),
    "colons": lambda size: json.dumps(":" * size),
    "slashes": lambda size: json.dumps("/" * size),
    "at signs": lambda size: json.dumps("@" * size),
    "spaces": lambda size: json.dumps("a" + " " * size),
    "semicolons": lambda size: json.dumps("; " * (size // 2)),
    "line ends": lambda size: "\n" * size,
    "backslashes": lambda size: '"' + "\\\\" * (size // 2) + '"',
    "quotes": lambda size: '"' * size,
    "backticks": lambda size: _repeated("`a`+", size),
    "parentheses": lambda size: "(" * size,
    "accents": lambda size: json.dumps("a" + "\u0301" * (size // 3), ensure_ascii=False),
    "mixed values": _mixed,
    "numbers of one hash": _colliding,
    "objects": _objects,
    "a long key": _long_key,
    "dotted keys": lambda size: _repeated("a.", size) + "b = 1",
    "tables": lambda size: "\n".join(f"[t{number}]\na=1" for number in range(size // 12)),
    "tables of tables": lambda size: _repeated("[[a]]\n", size),
    "inline tables": lambda size: "a = " + _repeated("{a=", size),
    "base64": lambda size: "A" * size,
}


def inputs(name: str) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """For a parser: what it is given, as a function of the size in bytes."""
    # What every JSON text meets is looked at once.
    for shape, made in () if name.startswith("format ") else SHAPES.items():
        yield shape, lambda size, made=made: made(size).encode()
    for form in _forms_of(name):
        for shape in ("colons", "mixed values", "numbers of one hash", "objects", "a long key", "unknown keys"):
            yield (
                f"{shape} in {form}",
                lambda size, made=SHAPES[shape], form=form: _everywhere(made, size, form).encode(),
            )


@cache
def _forms_of(name: str) -> tuple[str, ...]:
    by_parser = {
        "run request": "run_request",
        "schema": "table_schema",
        "published limits": "published_limits",
        "invite": "invite",
        "join": "join",
        "manifest": "manifest",
        "transcript": "transcript",
        "model": "model",
    }
    if name.startswith("format "):
        return (name.removeprefix("format "),)
    return (by_parser[name],) if name in by_parser else ()


def read(parser: Parser, data: bytes) -> None:
    """Have it read, and say no in its own way if it likes."""
    with suppress(*REFUSALS):
        parser(data)
