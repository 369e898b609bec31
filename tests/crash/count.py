"""``python -m tests.crash.count``: how many kill points the tests have, by run and process."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.crash.matrix import Worlds, points
from tests.crash.runs import LONG, victims


def main() -> None:
    """One undisturbed run of each kind."""
    with tempfile.TemporaryDirectory(prefix="privity-crash-") as folder:
        worlds, total = Worlds(Path(folder), 1), 0
        for name, run in LONG.items():
            reference = worlds.reference(worlds.provide(run))
            counts = {who: sum(1 for _ in points(reference, [who])) for who in victims(reference)}
            total += sum(counts.values())
            print(f"{name}: {sum(counts.values())} ({', '.join(f'{who} {n}' for who, n in counts.items())})")
        print(f"in all: {total}")


if __name__ == "__main__":
    main()
