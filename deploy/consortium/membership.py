"""Pause, unpause or remove a party: what consortium.toml then says, checked as a whole before it is sealed."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from privity.common.consortium.manifest import Manifest
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.safe_files import write_whole
from privity.deploy.consortium.organiser import Agreement, Organiser, load_agreement


def pause(organiser: Organiser, party: str, minimum_parties: int | None = None) -> Manifest:
    """Seal a manifest by which new runs leave this party out.

    Args:
        minimum_parties: what the members agree on from now on; as before if left out.

    Raises:
        PrivityError: bad-option: it is no party, is paused already, or no run would be possible; as ``Organiser.seal``.
    """
    agreement = _known(organiser, party)
    if party in agreement.paused:
        raise _refused("party", f"{party} is paused already", f"privity consortium unpause {party}")
    return _changed(organiser, replace(agreement, paused=(*agreement.paused, party)), minimum_parties)


def unpause(organiser: Organiser, party: str, minimum_parties: int | None = None) -> Manifest:
    """Seal a manifest by which new runs are over this party again.

    Raises:
        PrivityError: bad-option: it is no party, or is not paused; as ``Organiser.seal``.
    """
    agreement = _known(organiser, party)
    if party not in agreement.paused:
        hint = f"Paused are: {', '.join(agreement.paused) or 'none'}."
        raise _refused("party", f"{party} is not paused", hint)
    rest = tuple(name for name in agreement.paused if name != party)
    return _changed(organiser, replace(agreement, paused=rest), minimum_parties)


def remove(organiser: Organiser, party: str, minimum_parties: int | None = None) -> Manifest:
    """Seal a manifest that does not list this party any more: it cannot call the curator from then on.

    Raises:
        PrivityError: as ``pause``, and bad-option if it runs the curator.
    """
    agreement = _known(organiser, party)
    if agreement.curator_member == party:
        hint = f"Change curator_member in {organiser.agreement_file} first, and who runs the curator."
        raise _refused("party", f"{party} runs the curator", hint)
    parties, paused = (tuple(n for n in names if n != party) for names in (agreement.parties, agreement.paused))
    return _changed(organiser, replace(agreement, parties=parties, paused=paused), minimum_parties)


def _known(organiser: Organiser, party: str) -> Agreement:
    agreement = organiser.agreement()
    if party not in agreement.parties:
        raise _refused("party", f"{party!r} is no party", f"Parties are: {', '.join(agreement.parties)}.")
    return agreement


def _changed(organiser: Organiser, wanted: Agreement, minimum_parties: int | None) -> Manifest:
    """Check what is wanted as a whole, write it to consortium.toml, and seal; the file is as before if that fails."""
    wanted = replace(wanted, minimum_parties=minimum_parties or wanted.minimum_parties)
    left = [name for name in wanted.parties if name not in wanted.paused]
    if len(left) < 2:
        raise _refused("party", f"runs would be over {', '.join(left) or 'nobody'} alone", "A run needs two parties.")
    if wanted.parties_per_person > 1 and wanted.paused:
        reason = "a person may be at several parties, so every run is over all of them and none can be paused"
        raise _refused("party", reason, "Remove the party, or wait for it.")
    if len(left) < wanted.minimum_parties:
        reason = (
            f"{len(left)} parties would be left ({', '.join(left)}), and the members agreed on {wanted.minimum_parties}"
        )
        hint = f"Have them agree on fewer; then add --minimum-parties {len(left)}."
        raise _refused("minimum_parties", reason, hint)
    file = organiser.agreement_file
    before = file.read_text(encoding="utf-8")
    write_whole(file, _edited(before, wanted, file))
    try:
        load_agreement(file)
        return organiser.seal()
    except BaseException:
        write_whole(file, before)
        raise


def _edited(text: str, wanted: Agreement, file: Path) -> str:
    """The file with these parties, all else as it was written.

    Raises:
        PrivityError: bad-option: it is written in a way that is not edited here.
    """
    values: dict[str, Any] = {"parties": [*wanted.parties], "minimum_parties": wanted.minimum_parties}
    expected = {**tomllib.loads(text), **values}
    expected.pop("paused", None)
    if wanted.paused:
        expected["paused"] = [*wanted.paused]
    text = re.sub(r"^paused[ \t]*=[ \t]*\[[^\]]*\][^\n]*\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"^minimum_parties[ \t]*=[ \t]*\d+", f"minimum_parties = {wanted.minimum_parties}", text, flags=re.M)
    line = f"parties = {json.dumps(values['parties'])}"
    if wanted.paused:
        line += f"\npaused = {json.dumps(expected['paused'])}"
    text = re.sub(r"^parties[ \t]*=[ \t]*\[[^\]]*\]", line, text, count=1, flags=re.MULTILINE)
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        found = {}
    if found != expected:
        hint = f"Write it there yourself, and run privity consortium seal:\n{line}"
        raise _refused("folder", f"{file} is written in a way that this command does not edit", hint)
    return text


def _refused(option: str, reason: str, hint: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
