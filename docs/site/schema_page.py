"""The table of docs/schema.md with the keys of a field, as the format declares them.

``python -m docs.site.schema_page`` writes it again after a declaration changed; a test holds it to the format.
"""

from __future__ import annotations

import re
from pathlib import Path

from docs.site.reference import cell
from privity.common.data.field_keys import FORM

PAGE = Path(__file__).parents[1] / "schema.md"


def page() -> str:
    """The text of the page, with links for the sections that a meaning names."""
    told = {key: re.sub(r"docs/schema\.md(#[\w-]+)", r"[below](\1)", form["description"]) for key, form in FORM.items()}
    rows = [f"| `{key}` | {cell(meaning)} |" for key, meaning in told.items()]
    before, heading, rest = PAGE.read_text(encoding="utf-8").partition("## Keys of a field\n\n")
    return "\n".join([before + heading + "| key | meaning |\n|---|---|", *rows, rest[rest.index("\nWhich keys") :]])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
