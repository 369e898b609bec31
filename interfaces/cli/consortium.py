"""``privity consortium``: what the organiser does, from an agreement to one signed manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privity.common.consortium.invitation import fingerprint
from privity.common.consortium.manifest import Manifest
from privity.common.data.schema import load_schema
from privity.common.text import text_table
from privity.common.text.command_hints import option
from privity.common.text.terminal import say
from privity.deploy.consortium import membership
from privity.deploy.consortium.organiser import Organiser
from privity.interfaces.cli.schema import tell_formulas, tell_unkept_rules

consortium_app = typer.Typer(no_args_is_help=True, help="Commands of the organiser: agree, invite, seal.")

Folder = Annotated[Path, typer.Option(help="the organiser's folder")]
HERE = Path()


@consortium_app.command("init")
def init(
    name: Annotated[str, typer.Option(help="name of the consortium")],
    curator: Annotated[str, typer.Option(help="host:port where parties will reach the curator")],
    schema: Annotated[Path, typer.Option(help="schema of the joint table")],
    party: Annotated[list[str], typer.Option(help="a data owner's name; repeat it for each")],
    folder: Folder = HERE,
) -> None:
    """Write a commented consortium.toml for review, and make the organiser's own keys."""
    organiser = Organiser.init(folder, name, curator, schema, tuple(party))
    organiser.agreement()
    tell_formulas(load_schema(schema))
    tell_unkept_rules(load_schema(schema))
    then = f"privity consortium invite{option('folder', folder, HERE)}"
    say(f"Written: {organiser.agreement_file}. Review it; then: {then}")


@consortium_app.command("invite")
def invite(
    members: Annotated[list[str] | None, typer.Argument(help="members to invite; by default all")] = None,
    folder: Folder = HERE,
) -> None:
    """Write an invite for each member. It holds no secret; compare its fingerprint by phone or in person."""
    organiser = Organiser(folder)
    shown = text_table.table("member", "role", "invite", "fingerprint")
    for member in members or organiser.agreement().everybody():
        file, made = organiser.invite(member)
        text_table.add(shown, member, made.role, str(file), fingerprint(made.to_dict()))
    text_table.show(shown)
    then = f"privity consortium seal{option('folder', folder, HERE)}"
    say(f"Send each its file. What they send back goes into {organiser.joins}; then: {then}")


@consortium_app.command("seal")
def seal(folder: Folder = HERE) -> None:
    """Check every member's answer, and sign one manifest that lists all members."""
    organiser = Organiser(folder)
    file = organiser.agreement().schema
    before = organiser.current()
    manifest = organiser.seal()
    answers = organiser.answers()
    shown = text_table.table("answer", "member", "role", "fingerprint")
    for path, join in answers.declared.items():
        text_table.add(shown, path.name, join.name, join.role, fingerprint(join.to_dict()))
    text_table.show(shown)
    if answers.others:
        say(f"Not declared in {organiser.agreement_file}, so left aside: {answers.named_others()}.")
    say("Compare the fingerprints with what each member sees, by another way than the files came.")
    say(f"Sealed: {organiser.manifest_file}, serial {manifest.serial}. Give it to the curator: parties get it there.")
    say(f"Its schema: {file}, SHA-256 {manifest.schema_digest}.")
    if before is not None and before.schema_digest != manifest.schema_digest:
        say(
            f"The manifest before (serial {before.serial}) had another schema. Send {file} to every member. They accept"
            " it with --schema FILE: privity curator accept MANIFEST, privity party accept, privity operator accept."
        )


Party = Annotated[str, typer.Argument(help="a data owner's name")]
MinimumParties = Annotated[
    int | None,
    typer.Option(min=2, help="new minimum of parties in a run, if the members agree to change it"),
]


@consortium_app.command("pause")
def pause(party: Party, minimum_parties: MinimumParties = None, folder: Folder = HERE) -> None:
    """Leave a party out of new runs, and seal. It stays a member, and runs that have begun go on with it."""
    organiser = Organiser(folder)
    manifest = membership.pause(organiser, party, minimum_parties)
    _tell_sealed(organiser, manifest, f"{party} is paused: new runs are over {_of_runs(manifest)}.")


@consortium_app.command("unpause")
def unpause(party: Party, minimum_parties: MinimumParties = None, folder: Folder = HERE) -> None:
    """Take a paused party into new runs again, and seal."""
    organiser = Organiser(folder)
    manifest = membership.unpause(organiser, party, minimum_parties)
    _tell_sealed(organiser, manifest, f"{party} takes part again: new runs are over {_of_runs(manifest)}.")


@consortium_app.command("remove")
def remove(party: Party, minimum_parties: MinimumParties = None, folder: Folder = HERE) -> None:
    """Remove a party from the consortium, and seal. Runs that have begun with it cannot go on: pause it first."""
    organiser = Organiser(folder)
    manifest = membership.remove(organiser, party, minimum_parties)
    _tell_sealed(organiser, manifest, f"{party} is no member any more: runs are over {_of_runs(manifest)}.")
    say(f"Runs that have begun with {party} stop: discard them (privity run stop --discard RUN).")


def _of_runs(manifest: Manifest) -> str:
    return ", ".join(manifest.members_of_run(None))


def _tell_sealed(organiser: Organiser, manifest: Manifest, what: str) -> None:
    count = len(manifest.members_of_run(None))
    say(what)
    say(f"Sealed: {organiser.manifest_file}, serial {manifest.serial}. Give it to the curator: parties get it there.")
    say(f"The members agreed on {manifest.minimum_parties} parties or more. A party whose own policy demands more than")
    say(f"{count} refuses runs from now on, until its owner lowers minimum_parties there.")
