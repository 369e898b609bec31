"""Mutations of valid messages: of their bytes, of their fields, and of the documents within them.

Seeded, so that what a message did can be done again; far faster than a general property-based generator.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

NUMBERS = (
    *("", "0", "-1", "+1", " 1", "1_0", "01", "0.5", "1e5", "1e999999999", "1e-999999999", "nan", "inf", "-inf"),
    *("1/0", "0/1", "2/4", "1/-3", "\u0661", "\uff11/\uff13", "\u00bd", "\u2460", "1\u0660", "1\n", "\x001", "0x10"),
    *("9" * 300, "9" * 300 + "/" + "7" * 300, "1/" + "9" * 299, "9" * 301, "9" * 5_000, "1/3" * 100, "9" * 100_000),
)
NAMES = (
    *("", "/", "..", "a/b", "#token/x", "#closed/run-1", "run-1", "run-2", "party-1", "party-2", "party-9", "curator"),
    *("\x00", "\x1b[2J", "\u202e", "'; DROP TABLE entries; --", "%s%n", "{0}", "x" * 257, "\u00e9" * 300, "y" * 70_000),
)
INTEGERS = (0, 1, 2, 3, 7, 8, 255, 256, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1)
DOCUMENTS = (
    *(b"", b"{", b"null", b"[]", b"{}", b"0", b'"x"', b"NaN", b"[1e400]", b"-0", b"1E2", b'{"a":1,"a":1}', b"\xff\xfe"),
    *(b" {}", b"\xef\xbb\xbf{}", b'{"\\ud800":1}', b"1" * 5_000, b"-" + b"9" * 20, b"{}" * 1_000, b'"\\u0000"'),
    *(b"[" * n + b"]" * n for n in (60, 70, 900, 20_000, 200_000)),
    *(b'{"a":' * n + b"1" + b"}" * n for n in (70, 20_000)),
    b"[" + b"0," * 200_000 + b"0]",
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**53 - 1, 2**53, 2**64, -(2**63), 10**400, 10**4_299, 1.5, -0.0, 1e308),
    *(float("nan"), float("inf"), [], {}, [[]], [None], {"": None}, "\ud800"),
    *NUMBERS[:20],
    *NAMES,
)
KINDS = ("bytes", "field", "document", "splice")
OFTEN = (2, 5, 2, 1)


def deep(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


class Mutator:
    """Changes messages at random, from a seed.

    Args:
        corpus: valid messages of one type, to be spliced into each other.
    """

    def __init__(self, seed: int, corpus: list[bytes], kind: type[Message]) -> None:
        self.random = random.Random(seed)
        self._corpus, self._type = corpus, kind
        self._ways: dict[str, Callable[[bytes], bytes]] = {
            "bytes": self._bytes,
            "field": self._field,
            "document": self._document,
            "splice": self._splice,
        }

    def mutate(self, message: bytes) -> tuple[str, bytes]:
        """(kind of mutation, changed message)."""
        (kind,) = self.random.choices(KINDS, OFTEN)
        changed = self._ways[kind](message)
        while self.random.random() < 0.15:
            changed = self._ways[self.random.choice(KINDS)](changed)
        return kind, changed

    def _bytes(self, data: bytes) -> bytes:
        r, changed = self.random, bytearray(data or b"\x00")
        place = r.randrange(len(changed))
        match r.randrange(9):
            case 0:
                changed[place] ^= 1 << r.randrange(8)
            case 1:
                changed[place] = r.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del changed[place:]
            case 3:
                del changed[place : place + r.randrange(1, 20)]
            case 4:
                changed[place:place] = r.randbytes(r.randrange(1, 40))
            case 5:
                changed += changed[place:] * r.choice((1, 2, 50))
            case 6:
                # Lengths and numbers as protobuf writes them, far beyond what follows.
                changed[place:place] = r.choice((b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80" * 11))
            case 7:
                return r.randbytes(r.choice((0, 1, 10, 1_000)))
            case 8:
                # Unknown fields and groups within groups.
                changed += r.choice(
                    (b"\xf8\xff\xff\xff\x0f\x01", b"\x0b" * r.choice((1, 99, 5_000)), b"\xfa\x07\x03abc")
                )
        return bytes(changed)

    def _splice(self, data: bytes) -> bytes:
        """The head of one message and the tail of another, or the fields of both, the later ones on top."""
        other = self.random.choice(self._corpus)
        if self.random.random() < 0.5:
            return data + other
        return data[: self.random.randrange(len(data) + 1)] + other[self.random.randrange(len(other) + 1) :]

    def _field(self, data: bytes) -> bytes:
        try:
            message = self._type.FromString(data)
        except DecodeError:
            return self._bytes(data)
        self._change_field(message)
        return message.SerializeToString()

    def _change_field(self, message: Message) -> None:
        r = self.random
        present = [field for field, _ in message.ListFields()]
        field = r.choice(present if present and r.random() < 0.8 else list(message.DESCRIPTOR.fields) or [None])
        if field is None:
            return
        if r.random() < 0.1:
            message.ClearField(field.name)
        elif field.is_repeated:
            self._change_repeated(message, field)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            inner = getattr(message, field.name)
            inner.SetInParent()
            self._change_field(inner)
        else:
            setattr(message, field.name, self._scalar(field, getattr(message, field.name)))

    def _change_repeated(self, message: Message, field: FieldDescriptor) -> None:
        r, values = self.random, getattr(message, field.name)
        way = r.randrange(5)
        if way == 0 and values:
            del values[r.randrange(len(values))]
        elif way == 1 and values:
            for value in [values[r.randrange(len(values))]] * r.choice((1, 3, 1_000, 30_000)):
                values.append(copy.copy(value)) if not isinstance(value, Message) else values.add().CopyFrom(value)
                if isinstance(value, Message) and value.ByteSize() * len(values) > 1 << 22:
                    break
        elif way == 2 and len(values) > 1:
            order = list(values)
            r.shuffle(order)
            del values[:]
            values.extend(order)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            self._change_field(values[r.randrange(len(values))] if values else values.add())
        elif values:
            place = r.randrange(len(values))
            values[place] = self._scalar(field, values[place])
        else:
            values.append(self._scalar(field, ""))

    def _scalar(self, field: FieldDescriptor, value: Any) -> Any:
        r = self.random
        match field.type:
            case FieldDescriptor.TYPE_STRING:
                text = r.choice((*NUMBERS, *NAMES, value + "x", value[:-1], value.upper(), value * 2))
                return text.encode(errors="ignore").decode()
            case FieldDescriptor.TYPE_BYTES:
                return self._bytes(value) if r.random() < 0.7 else r.choice(DOCUMENTS)
            case FieldDescriptor.TYPE_BOOL:
                return not value
            case FieldDescriptor.TYPE_UINT64:
                return r.choice(INTEGERS)
        bound = 2**32 if field.type == FieldDescriptor.TYPE_UINT32 else 2**31
        return r.choice((r.randrange(20), *(n for n in INTEGERS if n < bound)))

    def _document(self, data: bytes) -> bytes:
        """Another value somewhere in a JSON document within the message; the bytes of a field where there is none."""
        try:
            message = self._type.FromString(data)
        except DecodeError:
            return self._bytes(data)
        places = list(_documents(message))
        if not places:
            return self._field(data)
        inner, name = self.random.choice(places)
        setattr(inner, name, self.document(getattr(inner, name)))
        return message.SerializeToString()

    def document(self, data: bytes) -> bytes:
        """A JSON document with something changed in it."""
        r = self.random
        if r.random() < 0.2:
            return r.choice(DOCUMENTS)
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            return self._bytes(data)
        changed = self._change_value(content)
        try:
            text = json.dumps(changed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        except (ValueError, RecursionError):
            return b"null"
        encoded = text.encode(errors="surrogatepass")
        if r.random() < 0.1:
            encoded = encoded.replace(b"{", b'{"run":"x","run":"y",', 1)
        return encoded

    def _change_value(self, value: Any) -> Any:
        r = self.random
        if isinstance(value, dict) and value and r.random() < 0.9:
            key = r.choice(sorted(value))
            way = r.random()
            if way < 0.1:
                return {k: v for k, v in value.items() if k != key}
            if way < 0.2:
                return {**value, r.choice((*NAMES, key + " ")): value[key]}
            return {**value, key: self._change_value(value[key])}
        if isinstance(value, list) and value and r.random() < 0.8:
            place = r.randrange(len(value))
            way = r.random()
            if way < 0.15:
                return value[:place] + value[place + 1 :]
            if way < 0.3:
                return value + [value[place]] * r.choice((1, 2, 2_000))
            return [*value[:place], self._change_value(value[place]), *value[place + 1 :]]
        if isinstance(value, str) and value and r.random() < 0.4:
            place = r.randrange(len(value))
            return r.choice((value[:place] + "0" + value[place + 1 :], value[:place], value + "0", value.upper()))
        if isinstance(value, int) and not isinstance(value, bool) and r.random() < 0.4:
            return value + r.choice((-1, 1, 10, 1 << 40))
        if r.random() < 0.05:
            return deep(r.choice((3, 70, 400)))
        return r.choice(VALUES)


def _documents(message: Message) -> list[tuple[Message, str]]:
    """Every field of bytes that holds a JSON document."""
    found = []
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_BYTES and not field.is_repeated and value[:1] == b"{":
            found.append((message, field.name))
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                found += _documents(inner)
    return found
