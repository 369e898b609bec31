"""Pages of the reference, written from the code: the Python interface, commands, errors, forms of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

import privity
from privity.common import errors, exit_codes, formats
from privity.interfaces.cli.main import app

PYTHON = {
    "One owner": ("Synthesizer", "Schema", "SavedModel", "load_model"),
    "Several owners": ("simulate", "connect"),
    "Budgets": ("Ledger", "declare_population"),
    "Releases": ("Release",),
    "Errors": ("PrivityError", "ProblemsFound", "NotFittedError"),
}
"""Names of ``privity`` by what they are about. What is left are algorithms."""

RETURNED = (
    "connections.Consortium", "connections.Run", "marginals.Marginals", "marginals.Marginal",
    "marginals.EstimatedMarginal", "releases.Statement", "progress_and_plans.Plan", "progress_and_plans.Progress",
    "progress_and_plans.Status",
)  # fmt: skip
"""Classes beside ``privity`` that are never made by their name, but returned."""

FORMS = Path(formats.__file__).parent
Page = tuple[str, str]


def pages() -> Iterator[Page]:
    """Place and text of each page."""
    yield "reference/api.md", python_page()
    yield "reference/commands.md", commands_page()
    yield "reference/errors.md", errors_page()
    yield from form_pages()


def cell(text: object) -> str:
    """A text within a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def python_page() -> str:
    """Every name that ``from privity import`` gives, by its docstring."""
    named = {name for names in PYTHON.values() for name in names}
    groups = PYTHON | {"Algorithms": tuple(name for name in privity.__all__ if name not in named)}
    lines = ["# Python interface", "", "Every name that `from privity import NAME` gives.", ""]
    for title, names in groups.items():
        lines += [f"## {title}", "", "```{eval-rst}"]
        for name in names:
            if isinstance(getattr(privity, name), type):
                lines += [f".. autoclass:: privity.{name}"]
                inherited = ["   :inherited-members: object"] if name in ("Ledger", "Synthesizer") else []
                lines += ["   :members:", *inherited]
            else:
                lines += [f".. autofunction:: privity.{name}"]
            lines.append("")
        lines += ["```", ""]
    lines += ["## What these return", "", "```{eval-rst}"]
    for name in RETURNED:
        lines += [f".. autoclass:: privity.{name}()", "   :members:", ""]
    lines += ["```", ""]
    return "\n".join(lines)


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command below one, with its name in full."""
    for word, inner in getattr(command, "commands", {}).items():
        if hasattr(inner, "commands"):
            yield from leaves(inner, f"{name} {word}")
        else:
            yield f"{name} {word}", inner


def shown_name(argument: Any) -> str:
    """An argument as usage shows it."""
    return str(argument.metavar or argument.name.upper())


def default_of(option: Any) -> str:
    """What holds if an option is left out."""
    if option.required:
        return "required"
    if option.default in (None, "", False) or callable(option.default):
        return ""
    return f"`{option.default.value if isinstance(option.default, Enum) else option.default}`"


def commands_page() -> str:
    """Every command with its arguments and options, as the command line declares them."""
    lines = ["# Options of the commands", "", "What `privity COMMAND --help` shows, of every command.", ""]
    for name, command in sorted(leaves(typer.main.get_command(app), "privity")):
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and not p.hidden and p.name != "help"]
        usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(shown_name(p) for p in arguments)])
        lines += [f"## {name}", "", command.help or "", "", "```text", usage, "```", ""]
        if not arguments + options:
            continue
        lines += ["| option | default | meaning |", "|---|---|---|"]
        for one in [*arguments, *options]:
            flags = ", ".join(f"`{flag}`" for flag in [*one.opts, *one.secondary_opts])
            shown = flags if one in options else f"`{shown_name(one)}`"
            lines.append(f"| {shown} | {cell(default_of(one))} | {cell(getattr(one, 'help', None) or '')} |")
        lines.append("")
    return "\n".join(lines)


def errors_page() -> str:
    """Every error of the catalogue: what it says, what to do about it."""
    lines = [
        "# Errors", "",
        "Every error has a code, says what is wrong, and names what to do. `--json` prints it as an object with `error`"
        " (the code), `message` and `remedy`; logs have the code as `reason`. Words in braces stand for names of files,"
        " fields, parties or runs. The exit code is that of the command which met the error.", "",
    ]  # fmt: skip
    for kind in sorted(errors.Catalogue, key=lambda kind: kind.value.code):
        entry = kind.value
        remedy = re.sub(r"(\{[^}]*\})", r"`\1`", entry.remedy.replace("!r}", "}"))
        code = exit_codes.OF_KIND.get(kind, exit_codes.Exit.OTHER).value
        lines += [
            f"## {entry.code}", "",
            "```text", entry.text.replace("!r}", "}"), "```", "",
            f"- **What to do:** {remedy}",
            f"- **Exit code:** {code}. **gRPC status:** `{entry.status}`.", "",
        ]  # fmt: skip
    return "\n".join(lines)


def rules(form: dict[str, Any]) -> str:
    """What a value must be, in short."""
    if "const" in form:
        return f"`{json.dumps(form['const'])}`"
    if "enum" in form:
        return "one of " + ", ".join(f"`{json.dumps(value)}`" for value in form["enum"])
    kinds = form.get("type", [either["type"] for key in ("anyOf", "oneOf") for either in form.get(key, [])])
    told = [" or ".join([kinds] if isinstance(kinds, str) else kinds)]
    told += [
        f"{text} {form[key]}"
        for key, text in {
            "minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "minLength": "length at least",
            "maxLength": "length at most", "minItems": "items at least", "maxItems": "items at most",
        }.items()
        if key in form
    ]  # fmt: skip
    if "x-types" in form:
        told.append(f"with the types {form['x-types']}")
    if "pattern" in form:
        told.append(f"matches `{form['pattern']}`")
    if "$ref" in form:
        told.append(f"`{form['$ref'].rsplit('/', 1)[-1]}`")
    return ", ".join(text for text in told if text)


def keys(form: dict[str, Any], whole: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Every key of a form as a path (``parties[].name``), whether it is required, and its own form.

    Args:
        whole: the JSON Schema that the form is a part of; it has the definitions.
    """
    if form.get("$ref", "").startswith("#/$defs/"):
        form = whole["$defs"][form["$ref"].rsplit("/", 1)[-1]]
    for either in form.get("anyOf", []):
        yield from keys(either, whole, prefix)
    for key, inner in form.get("properties", {}).items():
        yield prefix + key, key in form.get("required", []), inner
        yield from keys(inner, whole, f"{prefix}{key}.")
        if isinstance(inner.get("items"), dict):
            yield from keys(inner["items"], whole, f"{prefix}{key}[].")


def form_pages() -> Iterator[Page]:
    """A page for each form, and one that lists them."""
    index = [
        "# JSON Schemas of the files", "",
        "Every file that people write or a run releases has a JSON Schema (draft 2020-12), which Privity checks it"
        " against. [Files](../formats.md) has examples, and says more about the keys.", "",
        "| format | file |", "|---|---|",
    ]  # fmt: skip
    names = sorted(path.name.removesuffix(".schema.json") for path in FORMS.glob("*.schema.json"))
    for name in names:
        form = formats.load(name)
        index.append(f"| [`{name}`](forms/{name}.md) | {cell(form['title'])} |")
        lines = [f"# {name}", "", f"{form['title']}.", "", form.get("description", ""), ""]
        lines += ["| key | required | value | meaning |", "|---|---|---|---|"]
        for key, required, inner in keys(form, form):
            needed = "yes" if required else ""
            lines.append(f"| `{key}` | {needed} | {cell(rules(inner))} | {cell(inner.get('description', ''))} |")
        text = json.dumps(form, indent=2, ensure_ascii=False)
        lines += ["", "## The schema", "", "```json", text, "```", ""]
        yield f"reference/forms/{name}.md", "\n".join(lines)
    entries = [f"forms/{name}" for name in names]
    yield "reference/forms.md", "\n".join([*index, "", "```{toctree}", ":hidden:", "", *entries, "```", ""])
