"""``python -m docs.gallery [NAME ...]``: run the notebooks in the order of their cells, and keep what they show."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from docs.gallery import NOTEBOOKS
from docs.gallery.execution import executed

if __name__ == "__main__":
    chosen = [Path(__file__).with_name(f"{name}.ipynb") for name in sys.argv[1:]] or NOTEBOOKS
    for file in chosen:
        began = time.monotonic()
        file.write_text(executed(file), encoding="utf-8")
        print(f"{file.stem}: {time.monotonic() - began:.0f} s")
