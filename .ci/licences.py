"""Name the licence of every package that users of Privity install, extras included; fail at a GPL.

.venv/bin/python .ci/licences.py
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.markers import default_environment
from packaging.requirements import Requirement

OWN = "privity"
FOR_USERS = ("", "all")
"""Without an extra, and with all that users have."""


def licence(found: Distribution) -> str:
    """What a package's metadata say: an expression, else classifiers, else the first line of the text."""
    metadata = found.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    marked = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License :: ")]
    told = [line for line in marked if line != "OSI Approved"]
    text = (metadata.get("License") or "").strip().split("\n")[0][:60]
    return ", ".join(told) or text or "not stated"


def forbidden(text: str) -> bool:
    """Whether a package may be had under a GPL or AGPL alone; an LGPL is none, and so is a choice."""
    ways = re.split(r"\sor\s(?!later)", text, flags=re.IGNORECASE)
    return all(re.search(r"(?<!L)GPL|(?<!Lesser )General Public|Affero", way, re.IGNORECASE) for way in ways)


def needed(requirements: list[str], extras: tuple[str, ...]) -> list[Requirement]:
    """Those that hold on this machine with these extras."""
    read = [Requirement(text) for text in requirements]
    places = [{**default_environment(), "extra": extra} for extra in extras]
    return [one for one in read if one.marker is None or any(one.marker.evaluate(place) for place in places)]


def installed(root: str = OWN, extras: tuple[str, ...] = FOR_USERS) -> dict[str, Distribution | None]:
    """Everything that a package brings, by name; None for what is not here."""
    found: dict[str, Distribution | None] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting = [(root, extras)]
    while waiting:
        name, wanted = waiting.pop()
        name = re.sub(r"[-_.]+", "-", name).lower()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            found[name] = None
            continue
        for one in needed(found[name].requires or [], wanted):
            waiting.append((one.name, ("", *sorted(one.extras))))
    return found


def main() -> int:
    """Print a line for each package; 1 if one of them is under a GPL or not here."""
    bad = 0
    for name, found in sorted(installed().items()):
        told = "not installed: run `make test` first" if found is None else licence(found)
        wrong = found is None or forbidden(told)
        bad |= wrong
        print(f"{'NOT ALLOWED ' if wrong else ''}{name}: {told}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
