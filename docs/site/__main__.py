"""``python -m docs.site FOLDER``: build the site; a warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.site.building import build

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")
    faults = build(folder)
    print("\n".join(faults) or f"{folder / 'index.html'}: open it in a browser; it needs no server and no network")
    sys.exit(bool(faults))
