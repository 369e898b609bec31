"""What is committed of declared keys and options of a run: JSON Schemas, and tables in docs/formats.md.

``python -m docs.site.declared_keys`` writes it again after a declaration changed; a test holds it to the declarations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.site.reference import FORMS, cell, keys
from privity.common import formats
from privity.common.formats.declared_keys import FORMAT_VERSION, Key, keys_of
from privity.common.runs.run_limits import RunLimits
from privity.common.runs.run_request import request_schema
from privity.curator.server import CuratorConfig
from privity.deploy.consortium.organiser import Agreement
from privity.deploy.operator.operator_folder import OperatorConfig
from privity.party.config import PartyConfig
from privity.party.policy import Policy

KINDS: tuple[type[Any], ...] = (Policy, PartyConfig, CuratorConfig, OperatorConfig, Agreement)
PAGE = Path(__file__).parents[1] / "formats.md"
PUBLISHED, REQUEST = "published_limits", "run_request"


def json_schema(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    file, declared = kind.FILE, keys_of(kind)
    version = {"const": FORMAT_VERSION, "description": "version of this format"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"privity:{file.name}:{FORMAT_VERSION}",
        "title": file.title,
        **({"description": file.description} if file.description else {}),
        "type": "object",
        "additionalProperties": False,
        "required": ["format_version", *(name for name, each in declared.items() if each.required)],
        "properties": {
            "format_version": version,
            **{name: {**each.form, "description": each.description} for name, each in declared.items()},
        },
        **({"dependentRequired": dict(file.together)} if file.together else {}),
    }


def published_limits() -> dict[str, Any]:
    """The JSON Schema of limits that are published: of any range and of any names, as other versions may have them."""
    name = {"type": "string", "minLength": 1, "maxLength": 300, "pattern": formats.LINE}
    read: dict[str, dict[str, Any]] = {
        "string": {"type": "string", "pattern": formats.EXACT},
        "array": {"type": "array", "minItems": 1, "uniqueItems": True, "items": name},
        "integer": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
        "boolean": {"type": "boolean"},
    }
    # What else is said of a limit is about its key in policy.toml.
    form = json.loads(json.dumps(formats.load(PUBLISHED)))
    form["properties"]["published"]["properties"]["limits"]["properties"] = {
        name: read[each.form["type"]] | {"description": each.meaning.partition(". ")[0]}
        for name, each in keys_of(RunLimits).items()
    }
    return form


def files() -> Iterator[tuple[Path, str]]:
    """Path and text of each file."""
    published = published_limits()
    forms = {kind.FILE.name: json_schema(kind) for kind in KINDS} | {PUBLISHED: published, REQUEST: request_schema()}
    for name, form in forms.items():
        yield FORMS / f"{name}.schema.json", json.dumps(form, indent=2) + "\n"
    tables = {kind.FILE.name: {name: _told(each) for name, each in keys_of(kind).items()} for kind in KINDS}
    tables[REQUEST] = _told_of_request(forms[REQUEST])
    tables[PUBLISHED] = {name: inner["description"] for name, _, inner in list(keys(published, published))[1:]}
    text = PAGE.read_text(encoding="utf-8")
    for name, meanings in tables.items():
        lines = "".join(_lines({"format_version": str(FORMAT_VERSION), **meanings}))
        begin = f"<!-- begin keys of {name} -->\n"
        before, after = text.split(begin)
        text = f"{before}{begin}{lines}<!-- end -->{after.partition('<!-- end -->')[2]}"
    yield PAGE, text


def _told(key: Key) -> str:
    several = f". Some of: {', '.join(f'`{name}`' for name in key.choices)}" if key.is_list and key.choices else ""
    return f"{'' if key.required else 'optional: '}{key.in_words}{several}"


def _told_of_request(form: dict[str, Any]) -> dict[str, str]:
    """Meanings by key; what lies in the evaluation is told with it."""
    told = {name: (required, inner["description"]) for name, required, inner in keys(form, form)}
    within = [f"`{name}`: {said}" for name, (_, said) in told.items() if name.startswith("evaluation.")]
    told["evaluation"] = (False, "; ".join([told["evaluation"][1], *within]))
    shown = {name: each for name, each in told.items() if not name.startswith("evaluation.")}
    return {
        name: said if required or "." in name else f"optional: {said}"
        for name, (required, said) in shown.items()
        if name != "format_version"
    }


def _lines(meanings: Mapping[str, str]) -> Iterator[str]:
    """A table, with links to the pages that it names."""
    yield "| key | meaning |\n|---|---|\n"
    for name, meaning in meanings.items():
        linked = re.sub(r'docs/formats\.md, "(\w+)"', lambda found: f"[{found[1]}](#{found[1].lower()})", meaning)
        linked = re.sub(r"docs/([\w/]+\.md)", r"[\1](\1)", linked)
        yield f"| `{name}` | {cell(linked)} |\n"


if __name__ == "__main__":
    for place, content in files():
        place.write_text(content, encoding="utf-8")
