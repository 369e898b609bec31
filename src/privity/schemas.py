"""Schemas from Python: drafted, discovered or written, edited as objects, shown as tables, saved as JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from privity import given
from privity.asked_fields import asked_fields
from privity.column_types import Types, drafted_types, open_schema
from privity.common.data import schema as read
from privity.common.data.discoveries import discoveries_of
from privity.common.data.field_keys import FORM
from privity.common.data.listed_combinations import with_file
from privity.common.data.relation_hints import row_hints
from privity.common.data.schema_review import ENDS, declared_public, domain_in_words, undeclared_in_words, with_domain
from privity.common.data.sdv_metadata import schema_of_sdv
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json
from privity.common.privacy.budget import USUAL, Budget, Number, parse_delta, parse_epsilon, readable
from privity.common.public_names import public
from privity.common.runs.few_rows import DECLARED_BINS, hidden_numbers, in_words
from privity.common.storage.safe_files import write_text
from privity.common.text.first_few import first_few
from privity.discovery import Discover
from privity.html import table_in_html
from privity.party.sources.drafted_tables import looked_at_frame, looked_at_source


class Field(MutableMapping[str, Any]):
    """The declaration of one attribute: the keys of a field (docs/schema.md), as items and as attributes.

    ``field.missing_values`` is the key ``missingValues``. Setting a key to None removes it. Every change is checked at
    once together with the rest of the schema; what only fits together is changed together, by ``field.update(...)``.
    """

    _schema: Schema
    _name: str

    def __init__(self, schema: Schema, name: str) -> None:
        self.__dict__.update(_schema=schema, _name=name)

    def _document(self) -> dict[str, Any]:
        for each in self._schema._document["fields"]:
            if each["name"] == self._name:
                return each
        raise KeyError(f"the schema has no attribute {self._name!r} any more")

    def __getitem__(self, key: str) -> Any:
        return copy.deepcopy(self._document()[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        self[key]
        self.update({key: None})

    def __iter__(self) -> Iterator[str]:
        return iter(self._document())

    def __len__(self) -> int:
        return len(self._document())

    def update(self, *documents: Mapping[str, Any], **keys: Any) -> None:  # type: ignore[override]
        """Change several keys at once: ``draft["age"].update(bins=10, minimum=0, maximum=120)``.

        A new domain takes the place of the one that the field has; ``minimum`` and ``maximum`` stand for those of
        ``constraints``, within which an open domain is discovered. What is read off the rows stays marked as that: a
        person who has written all of the field gives ``read_off_rows=None``.

        Raises:
            ProblemsFound: what does not fit; nothing is changed then.
        """
        changes = {**{k: v for each in documents for k, v in each.items()}, **{_camel(k): v for k, v in keys.items()}}
        self._document()
        self._schema._change({self._name: changes})
        self.__dict__["_name"] = changes.get("name", self._name)

    def __getattr__(self, name: str) -> Any:
        if name in ENDS:
            return self.get("constraints", {}).get(name)
        if _camel(name) not in FORM:
            raise AttributeError(f"a field has no key {name!r}: there are {', '.join(sorted(FORM))}")
        return self.get(_camel(name))

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({_camel(name): value})

    def __repr__(self) -> str:
        return f"Field({dict(self)!r})"


@public
class Schema:
    """The declared attributes of a table and their domains.

    Args:
        source: a Table Schema as a mapping, the path of one, or another schema.

    Raises:
        ProblemsFound: every fault of it at once.
    """

    def __init__(self, source: given.Schema) -> None:
        parsed = given.given_schema(source)
        match source:
            case str() | Path():
                document = json.loads(Path(source).read_text(encoding="utf-8"))
            case Mapping():
                document = dict(source)
            case _:
                document = source.table_schema()
        self._document, self._parsed = copy.deepcopy(document), parsed
        self._findings: tuple[str, ...] = ()
        self._drafted_for: tuple[int, Budget] = 0, USUAL

    @classmethod
    def draft(
        cls,
        table: given.Table,
        name: str = "table",
        *,
        leave_out: Sequence[str] = (),
        keep: Sequence[str] = (),
        epsilon: Number = USUAL[0],
        delta: Number = USUAL[1],
    ) -> Schema:
        """A draft from the table's own rows, for what is publicly known: **not private**, and refused by every fit.

        Each field is marked as read off the rows. Replace what the rows gave by what is publicly known, or declare it
        public, field by field: ``schema.reviewed("age", "sex")``. What stood out, such as a column that was left out
        because it looks like an identifier, is shown with the draft.

        Args:
            table: a table in memory, or the path or address of one.
            leave_out, keep: columns to leave out, and to keep although they look like keys or like texts of which
                nothing would be discovered.
            epsilon, delta: of the release that it is for, by which the draft forecasts what would be discovered; with a
                delta of 0 no texts are.

        Raises:
            PrivityError: bad-option: columns that there are not, or none is left; coded rows.
            RowProblemsFound: what a fit would refuse of the table as a whole, such as names that appear twice.
        """
        budget = parse_epsilon(epsilon), parse_delta(delta)
        if (frame := given.frame_of(table)) is not None:
            looking = looked_at_frame(frame, name)
        elif isinstance(table, str | Path):
            looking = looked_at_source(str(table))
        else:
            given.coded_by(table)
            hint = "Give a table in memory, or the path or address of a table."
            raise PrivityError(Catalogue.BAD_OPTION, option="table", reason="its rows are coded", hint=hint)
        with looking as looked:
            found = looked.drafted(leave_out=leave_out, keep=keep, budget=budget)
            draft = cls(found.document)
            draft._drafted_for = looked.look.rows, budget
            draft._findings = (*looked.look.findings, *found.findings, *row_hints(looked.path, found.document))
        return draft

    @classmethod
    def discover(
        cls,
        table: given.Table,
        schema: given.Schema | None = None,
        *,
        types: Types | None = None,
        epsilon: Number,
        population: str,
        delta: Number = 0,
        ledger: Path | str | None = None,
        person: str | None = None,
        order: str | None = None,
    ) -> Schema:
        """A schema whose domains are discovered in the table's rows under differential privacy: a charged release.

        Args:
            schema: what is declared, with the domains to discover left open (``"domain": "discover"``).
            types: in the place of a schema whose domains are all open, and in which any value may be missing: the type
                of each column (or keys of its field, such as ``{"type": "datetime", "timezone": "UTC"}``). Or
                ``"as stored"``: the types that the table's columns have, which the caller thereby declares to be
                public; the schema says so. Readers infer such types from the rows, so nothing takes them by itself.
            epsilon, delta, population, ledger, person, order: as of a fit. Texts have categories only if a delta is
                granted. Without a schema a person's places may be empty, and types as stored leave out the columns
                ``person`` and ``order``.

        Raises:
            ProblemsFound, PrivityError: as of a fit; bad-option: no types, or domains below the noise, with what would
                do.
        """
        if schema is not None and types is not None:
            reason, hint = "the schema has them already", "Give a schema, or types."
            raise PrivityError(Catalogue.BAD_OPTION, option="types", reason=reason, hint=hint)
        frame = given.frame_of(table)
        table = table if frame is None else frame  # a stream is read once
        schema = Schema(open_schema(table, types, person, order)) if schema is None else schema
        found = Discover(epsilon, delta=delta, population=population, ledger=ledger)
        return Schema(found.fit(table, schema, person=person, order=order).discovered)

    @classmethod
    def from_sdv(cls, metadata: Mapping[str, Any] | Path | str, table: str | None = None) -> Schema:
        """The schema of a table that SDV describes; its domains are yet to be discovered.

        Any value may be missing. Keys are made anew; columns that SDV takes for personal are not read, and stay empty.

        Args:
            metadata: of SDV 1: what ``metadata.to_dict()`` gives, or the path of what it saves as JSON.
            table: its name, where there are several.

        Raises:
            PrivityError: bad-option: it describes no such table; file-missing and the like.
            ProblemsFound: what Privity does not have, such as a format of dates that loses the year.
        """
        found = read_json(metadata) if isinstance(metadata, Path | str) else metadata
        return cls(schema_of_sdv(found, table))

    def reviewed(self, *names: str, role: str = "data owner") -> Schema:
        """The same, with what these fields of a draft declare being declared public: releases may be made by it.

        The guarantee of every such release then rests on that, and its statement names the role.

        Args:
            names: fields, each by its name; without any, the error lists those that are still to be looked at.
            role: who declares it: ``"data owner"`` or ``"organiser"``; never a person's name.

        Raises:
            KeyError: a name that the schema does not have.
            PrivityError: bad-option: none is named of a draft.
            ProblemsFound: a role that there is not.
        """
        for name in names:
            if name not in self.undeclared:
                self[name]
        if self.undeclared and not names:
            shown = undeclared_in_words(self._parsed, self._document)
            reason = "; ".join(f"{name} ({words})" for name, words in shown.items())
            raise PrivityError(
                Catalogue.BAD_OPTION, option="names", reason=f"not declared public yet: {reason}",
                hint="Name each field that is public, such as schema.reviewed("
                f"{', '.join(map(repr, self.undeclared[:2]))}), or all that are listed: *schema.undeclared"
                + "".join(f". {told}" for told in self._few_rows()),
            )  # fmt: skip
        found = Schema(declared_public(self._document, names, role))
        found._drafted_for = self._drafted_for
        return found

    def review(self, role: str = "data owner") -> Schema:
        """Ask about each field that is still marked, here and now: a draft with the answers, which is left as it is.

        Of a number that is to be discovered it asks for the smallest and largest possible value. What is answered with
        yes is declared public, as by ``reviewed``.

        Raises:
            ProblemsFound: a role that there is not.
        """
        document, declared = asked_fields(self.table_schema(), "schema")
        found = Schema(declared_public(document, declared, role))
        found._drafted_for = self._drafted_for
        return found

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Fields that were read off the rows, and that nobody has declared public."""
        return self._parsed.undeclared

    @staticmethod
    def draft_types(table: given.Table) -> str:
        """The types of a table's columns, as text to check and to paste: ``print(Schema.draft_types(table))``.

        They are read from the table and its rows, so this is **not private**, and for the data owner's screen only.
        What a person has checked goes to ``discover(table, types={...})``.

        Args:
            table: a table in memory, or the path or address of a table that is no CSV file.

        Raises:
            PrivityError: bad-option: its columns have no types.
        """
        return drafted_types(table)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes, in their order."""
        return tuple(field["name"] for field in self._document["fields"])

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides a value's code, in hexadecimal."""
        return self._parsed.digest

    def __getitem__(self, name: str) -> Field:
        if name not in self.names:
            raise KeyError(f"{name!r} is no attribute: there are {', '.join(self.names)}")
        return Field(self, name)

    def __iter__(self) -> Iterator[Field]:
        return (Field(self, name) for name in self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]

    def over(self, names: list[str]) -> Schema:
        """The schema of some of its attributes, in this order of its own."""
        if isinstance(names, str):
            names = [names]
        for name in names:
            self[name]
        kept = [field for field in self._document["fields"] if field["name"] in names]
        given_ = zip(self._document.get("rowConstraints", ()), self._parsed.row_constraints, strict=True)
        rules = [text for text, rule in given_ if set(rule.attributes) <= set(names)]
        discoveries = [one.document() for one in discoveries_of(self._parsed.discoveries, names)]
        changed = {"fields": kept, "rowConstraints": rules, "discoveries": discoveries}
        return Schema({key: value for key, value in {**self._document, **changed}.items() if value != []})

    def update(self, fields: Mapping[str, Mapping[str, Any]]) -> None:
        """Change several fields at once, as ``schema["age"].update`` does one: a draft is edited in one call.

        ``draft.update({"age": {"minimum": 0, "maximum": 120}, "ward": {"categories": ["north", "south"]}})``

        Raises:
            KeyError: there is no such field.
            ProblemsFound: what does not fit, of all fields; nothing is changed then.
        """
        for name, keys in fields.items():
            self[name]._document()
            if not isinstance(keys, Mapping) or not all(isinstance(key, str) for key in keys):
                reason = f"{name} is to have keys with values"
                raise PrivityError(
                    Catalogue.BAD_OPTION, option="fields", reason=reason, hint=f'Give {{"{name}": {{...}}}}.'
                )
        self._change({name: {_camel(key): value for key, value in keys.items()} for name, keys in fields.items()})

    def _change(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        document = copy.deepcopy(self._document)
        for field in document["fields"]:
            if (keys := changes.get(field["name"])) is not None:
                changed = with_domain(field, keys)
                field.clear()
                field.update(changed)
        for discovery in document.get("discoveries", ()):
            # A field keeps its cost under another name.
            named = [changes.get(each, {}).get("name", each) for each in discovery["attributes"]]
            discovery["attributes"] = named
        self._set(document)

    def with_combinations(self, listed: Path | str) -> Schema:
        """The same, in which only the combinations of a public list occur, such as those of city, state and zip code.

        Args:
            listed: a CSV file whose header names fields of texts and integers; each row is a combination.

        Raises:
            ProblemsFound: a list with faults, or columns of it that are no such fields.
            PrivityError: file-missing, file-unreadable.
        """
        found = Schema(with_file(self._document, Path(listed)))
        found._drafted_for = self._drafted_for
        return found

    def table_schema(self) -> dict[str, Any]:
        """The document: a Table Schema."""
        return copy.deepcopy(self._document)

    def save(self, path: Path | str) -> None:
        """Write it as JSON; raises FileExistsError instead of replacing a file."""
        if Path(path).exists():
            raise FileExistsError(f"{path} exists: choose another name, or remove it first")
        write_text(json.dumps(self._document, indent=2, ensure_ascii=False) + "\n", Path(path))

    def _set(self, document: dict[str, Any]) -> None:
        self._parsed = read.parse_schema(document, "schema")
        self._document = document

    def _rows(self) -> list[tuple[str, str, str, str]]:
        told = []
        for attribute in self._parsed.attributes:
            missing = ", ".join(map(repr, attribute.missing))
            told.append((attribute.name, attribute.type, domain_in_words(attribute), missing))
        return told

    def __repr__(self) -> str:
        rows = [("attribute", "type", "domain", "missing values"), *self._rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(4)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        title = "; ".join([f"Schema of {len(self)} attributes", *self._notes()])
        return table_in_html(title, self._rows(), ("attribute", "type", "domain", "missing values"))

    def _notes(self) -> list[str]:
        found = ["types as stored, which whoever discovered it declared to be public"] * self._parsed.stored_types
        if self.undeclared:
            found.append(
                f"a draft: not private. Read off the rows, and not declared public: {first_few(self.undeclared)}"
                " (schema.reviewed(NAME, ...))"
            )
        for one in self._parsed.discoveries:
            delta = f" and delta {readable(one.loss.delta)}" if one.loss.delta else ""
            cost = f"epsilon {readable(one.loss.epsilon)}{delta}"
            found.append(f"{first_few(one.attributes)}: discovered in {one.population}, at {cost}")
        if self._parsed.unread:
            named = (f"{column.name} ({column.in_words})" for column in self._parsed.unread)
            found.append(f"columns that are not read: {first_few(list(named))}")
        if self._parsed.left_out:
            found.append(f"columns that are left out: {first_few(self._parsed.left_out)}")
        return [*found, *self._findings, *self._few_rows()]

    def _few_rows(self) -> list[str]:
        """What mends numbers of a draft that so few rows as it was read from would not tell."""
        rows, budget = self._drafted_for
        if not (names := hidden_numbers(self._parsed, rows, budget)):
            return []
        call = f"schema[{names[0]!r}].update(minimum=..., maximum=..., bins={DECLARED_BINS})"
        return [f"{in_words(names, rows, budget)} So: {call}"]


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
