"""Pages of the gallery, from its notebooks with what they showed when they were run."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.gallery import NOTEBOOKS

FOLDER = "gallery"


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Place and text of each notebook's page; its pictures are written below the folder of all pages."""
    for file in NOTEBOOKS:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        parts = []
        for number, cell in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(source)
                continue
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                parts += _shown(output, folder / FOLDER / f"{file.stem}-{number}.png", cell["metadata"].get("alt", ""))
        yield f"{FOLDER}/{file.stem}.md", "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any], picture: Path, alt: str) -> list[str]:
    """Markdown of an output: a picture in a file of its own, else its text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture.write_bytes(b64decode(data["image/png"]))
        return [f"![{alt}]({picture.name})"]
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    return [f"```text\n{text}\n```"] if text else []
