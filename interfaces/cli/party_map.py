"""``privity party map``: a draft of what this table calls the columns and values of the schema. Nothing is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from privity.common.data.schema import load_schema
from privity.common.storage.safe_files import refuse_existing, write_text
from privity.common.text.terminal import say
from privity.party.config import load_config
from privity.party.sources.map_draft import draft_map

PRIVATE = "The draft was read off the rows: it is for their owner, and is not sent anywhere."


def draft(
    out: Annotated[Path, typer.Option(help="file to write; must not exist")] = Path("map.json"),
    config: Annotated[Path, typer.Option(help="party.toml")] = Path("party.toml"),
) -> None:
    """Draft a map of this table: which columns and codes stand for those of the schema. Its owner must review it."""
    refuse_existing(out)
    settings = load_config(config)
    found = draft_map(replace(settings.rows.address(), table_map=None), load_schema(settings.schema))
    write_text(json.dumps(found.document, indent=2, ensure_ascii=False) + "\n", out, private=True)
    say(f"Draft written to {out}. {PRIVATE}")
    for finding in found.findings:
        say(f"- {finding}")
    say("No unit is guessed: add factor and offset where numbers have another unit than in the schema.")
    say('Compare each field with your code book, and write "readOffRows": "data owner" where it is right.')
    say(f"Name the file in {config}, as map = ..., and run: privity party check")
