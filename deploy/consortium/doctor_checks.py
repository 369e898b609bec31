"""``privity doctor``: everything that a node needs, looked at one by one, with what to do about what is amiss.

For the one who runs the node: it reads that node's own files and dials the curator; it charges and writes nothing. A
member is judged by the newest manifest that the curator hands out, whether it holds that one yet or not.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
import shutil
import socket
import stat
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from privity.common.consortium.key_renewal import Next, fitting_key
from privity.common.consortium.manifest import CURATOR, Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.crypto.certificates import RENEW_DAYS, days_left, same_certificate
from privity.common.crypto.identity import Identity
from privity.common.data.schema import Schema, load_schema
from privity.common.data.spreadsheet_formulas import REMEDY, WHY, in_words
from privity.common.errors import PrivityError
from privity.common.node.process import is_at_work
from privity.common.notices.channels import Channel, Mail
from privity.common.notices.outbox import WAITS, Outbox
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger_folder import default_ledger, ledgers_folder, open_ledger, other_ledgers
from privity.common.storage.journal import Journal
from privity.curator import server
from privity.curator.run_queue import JOURNAL_FILE
from privity.deploy.consortium.check_result import Check, Verdict, bad, good, tried
from privity.deploy.consortium.connection_checks import dialled, proxies
from privity.deploy.operator.curator_link import party_client
from privity.deploy.operator.operator_folder import link_of
from privity.party import config as party_config
from privity.party.keys import KeyFiles
from privity.party.other_nodes import STOP_ONE, OtherNodes
from privity.party.policy_file import policy_obeyed, sha256

FREE_BYTES = 1 << 30
"""Disk that a node should have left: ledger and journal must be written, or nothing goes on."""

AT_WORK = "policy at work"


def examine_party(file: Path) -> Iterator[Check]:
    """Every check of a party's node, in the order in which things are needed."""
    config = party_config.load_config(file)
    yield good("settings", f"{file}: party {config.name}")
    yield tried("policy", lambda: _policy(config))
    yield tried(AT_WORK, lambda: _policy_at_work(config))
    public = (config.manifest, config.organiser_key, config.certificate, config.schema)
    yield from _files(config.key, _private_of_party(file, config), public)
    at_curator = dialled(lambda: party_client(config))
    yield tried("manifest", lambda: _party_in_manifest(config, at_curator.newest))
    yield tried("certificate", lambda: _lasting("certificate", config.certificate.read_bytes()))
    yield from _waiting(config.key, at_curator.listed)
    yield tried("schema", lambda: _schema(config.schema, at_curator.newest))
    yield from _ready_schema(config.schema)
    yield tried("data", lambda: _data(config))
    yield tried("rows", lambda: _rows(config))
    yield tried("budget", lambda: _budget(config))
    yield tried("ledger", lambda: _ledger(config))
    yield tried("other nodes", lambda: _other_nodes(config))
    yield tried("disk", lambda: _disk(config.state))
    yield tried("clock", lambda: _clock(config.certificate.read_bytes()))
    yield tried("proxy", lambda: proxies(config.curator, config.proxy))
    yield at_curator.connection
    if config.metrics:
        yield _listening("metrics", config.metrics)
    yield from _notices("party", config.notices, config.state / party_config.JOURNAL_FILE)


def examine_curator(file: Path) -> Iterator[Check]:
    """Every check of a curator's node."""
    config = server.load_config(file)
    yield good("settings", f"{file}: listens at {config.listen}")
    public = (config.manifest, config.organiser_key, config.schema)
    yield from _files(config.key, [file, *config.state.glob("*.sqlite*")], public)
    manifests = ManifestFile(config.manifest, config.organiser_key)
    yield tried("manifest", lambda: _curator_in_manifest(manifests.current(), config.key))
    if manifests.exists():
        manifest = manifests.current()
        for holder, certificate in manifest.certificates.items():
            yield tried(f"certificate of {holder}", lambda h=holder, c=certificate: _lasting(h, c.encode()))  # type: ignore[misc]
        yield tried("schema", lambda: _schema(config.schema, manifest))
    yield from _waiting(config.key, _curator_is_renewed(manifests, config.key))
    yield tried("disk", lambda: _disk(config.state))
    yield _listening("address", config.listen)
    if config.metrics:
        yield _listening("metrics", config.metrics)
    yield from _notices("curator", config.notices, config.state / JOURNAL_FILE)


def examine_operator(file: Path) -> Iterator[Check]:
    """Every check of the operator's folder."""
    link = link_of(file)
    yield good("settings", f"{file}: dials {link.address}")
    yield from _files(link.key, [file], (link.manifests.organiser_key, link.certificate))
    yield tried("certificate", lambda: _lasting("certificate", link.certificate.read_bytes()))
    at_curator = dialled(lambda: link)
    if at_curator.newest is not None:
        yield _held(at_curator.newest, link.manifests, "Any command that asks the curator takes it: privity run list.")
    yield from _waiting(link.key, at_curator.listed)
    yield tried("clock", lambda: _clock(link.certificate.read_bytes()))
    yield tried("proxy", lambda: proxies(link.address, link.proxy))
    yield at_curator.connection


def _policy(config: party_config.PartyConfig) -> Check:
    known = None
    # What is amiss with the schema is a check of its own.
    with contextlib.suppress(PrivityError):
        known = load_schema(config.schema).names
    policy = party_config.read_policy(config, known)
    people = policy.population
    pairs = ((policy.epsilon_per_run, people.total_epsilon), (policy.delta_per_run, people.total_delta))
    found = f"epsilon {readable(pairs[0][0])} a run, {readable(pairs[0][1])} in all"
    if any(a_run > total for a_run, total in pairs):
        delta = f"; delta {readable(pairs[1][0])} a run, {readable(pairs[1][1])} in all" if pairs[1][0] else ""
        remedy = f"Lower what a run may cost in {config.policy}, or raise the total: privity population change --help."
        return Check("policy", Verdict.WARNING, f"the total is below what a run may cost: {found}{delta}", remedy)
    return good("policy", found)


def _policy_at_work(config: party_config.PartyConfig) -> Check:
    """Whether the running node goes by policy.toml as it is now."""
    file, journal = config.policy, config.state / party_config.JOURNAL_FILE
    if not is_at_work(config.state) or not journal.exists():
        return good(AT_WORK, f"no node is running; it reads {file} when it starts")
    with contextlib.closing(Journal(journal)) as opened:
        obeyed = policy_obeyed(opened)
    if obeyed is None or obeyed.sha256 != sha256(file.read_bytes() if file.exists() else None):
        remedy = "It reads it before each step, and every few seconds besides: look again."
        return Check(AT_WORK, Verdict.WARNING, f"the running node has not read {file} as it is now", remedy)
    if obeyed.fault:
        found = f"the running node has refused every run since {obeyed.since}: {obeyed.fault}"
        return bad(AT_WORK, found, f"Mend {file}: the node reads it again by itself. Over other people start it again.")
    return good(AT_WORK, f"the running node has obeyed {file} as it is now since {obeyed.since}")


def _notices(role: str, channels: Sequence[Channel], journal: Path) -> Iterator[Check]:
    """Whether what was to be told was taken, on each channel."""
    if not channels or not journal.exists():
        return
    with contextlib.closing(Journal(journal)) as opened:
        deliveries = Outbox(opened, role, channels).deliveries()
    for channel in channels:
        waiting = [each for each in deliveries if each.channel == channel.name and each.state == WAITS and each.tries]
        what = f"notices to {channel.to}"
        if waiting:
            remedy = f"See whether a trial is taken: privity {role} notices --try"
            yield Check(what, Verdict.WARNING, f"{len(waiting)} wait: {waiting[-1].reason}", remedy)
        else:
            yield good(what, "all were taken")


def _private_of_party(file: Path, config: party_config.PartyConfig) -> Iterator[Path]:
    """Files of an owner: settings, which may hold passwords, keys, what was answered, coded rows, ledgers."""
    yield from (file, config.policy)
    yield from (each.password for each in config.notices if isinstance(each, Mail) and each.password)
    yield from KeyFiles(config.name, config.keys, config.certificate, config.key).private_ones()
    for folder in (config.state, ledgers_folder()):
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file())
    if config.ledger:
        yield from sorted(config.ledger.parent.glob(f"{glob.escape(config.ledger.name)}*"))


def _files(key: Path, private: Iterable[Path], public: Iterable[Path]) -> Iterator[Check]:
    """Who else may read or write a member's files, its renewed keys among them, and the folders in which they lie.

    Args:
        key: of TLS.
        private: for the node's account only; others are made by it, and everybody may read them.
    """
    waiting = [path for path in sorted(Next(key).folder.rglob("*")) if path.is_file()]
    own = list(dict.fromkeys([*private, key, *(path for path in waiting if path == Next(key).next_key)]))
    files = [path for path in dict.fromkeys([*own, *public, *waiting]) if path.exists()]
    places = [*files, *dict.fromkeys(path.parent for path in files)]
    yield tried("private files", lambda: _private(own))
    yield tried("write access", lambda: _written_by_others(places))
    yield tried("owners", lambda: _owned(places, key))


def _written_by_others(places: list[Path]) -> Check:
    open_ones = [str(place) for place in places if stat.S_IMODE(place.stat().st_mode) & 0o022]
    if open_ones:
        return bad(
            "write access", f"others may write {', '.join(open_ones)}", shlex.join(["chmod", "go-w", *open_ones])
        )
    return good("write access", f"{len(places)} files and folders, for their owner only")


def _owned(places: list[Path], key: Path) -> Check:
    # Root may look at the files of the node's account, which is whose the key is.
    user = os.geteuid() or key.stat().st_uid
    others = [str(place) for place in places if place.stat().st_uid not in (0, user)]
    if others:
        return bad("owners", f"another user owns {', '.join(others)}", shlex.join(["chown", str(user), *others]))
    return good("owners", "all files are this account's or root's")


def _rows(config: party_config.PartyConfig) -> Check:
    """Only a warning: an owner may share a table, and another account may have written it."""
    files = [str(file) for file in config.rows.address().files if stat.S_IMODE(file.stat().st_mode) & 0o007]
    if files:
        found = f"every user of this machine may read or write {', '.join(files)}"
        return Check("rows", Verdict.WARNING, found, shlex.join(["chmod", "o=", *files]))
    return good("rows", "no file that every user of this machine may read or write")


def _private(files: list[Path]) -> Check:
    open_ones = [str(file) for file in files if stat.S_IMODE(file.stat().st_mode) & 0o077]
    if open_ones:
        return bad("private files", f"others may read {', '.join(open_ones)}", shlex.join(["chmod", "600", *open_ones]))
    return good("private files", f"{len(files)}, readable for their owner only")


def _party_in_manifest(config: party_config.PartyConfig, newest: Manifest | None) -> Check:
    what, ask = "manifest", "Send this party's answer to the organiser again, to be sealed."
    manifests = ManifestFile(config.manifest, config.organiser_key)
    waiting = Next(config.key, config.certificate, config.keys)
    manifest = newest or (manifests.current() if manifests.exists() else None)
    if manifest is None:
        remedy = "It comes from the curator as soon as the node connects: `privity party serve`."
        return Check(what, Verdict.WARNING, "none yet", remedy)
    own = [Identity.load(keys).public() for keys in (config.keys, waiting.next_keys) if keys.exists()]
    if manifest.members.get(config.name) not in own:
        return bad(what, f"it lists other keys for {config.name}, or none", ask)
    listed = (manifest.certificate_of("party", config.name) or "").encode()
    certificates = [file for file in (config.certificate, waiting.next_certificate) if file.exists()]
    if not any(same_certificate(listed, file.read_bytes()) for file in certificates):
        return bad(what, f"it lists another certificate for {config.name}", ask)
    remedy = "A node at work takes it with the next run, or within a minute. If it does not, its log says why."
    return _held(manifest, manifests, remedy)


def _held(newest: Manifest, manifests: ManifestFile, remedy: str) -> Check:
    """The newest manifest, and whether it is the one here."""
    found = f"{newest.consortium}, serial {newest.serial}, {len(newest.members)} parties"
    here = manifests.current().serial if manifests.exists() else None
    if here == newest.serial:
        return good("manifest", found)
    held = "none is here yet" if here is None else f"serial {here} is here still"
    return Check("manifest", Verdict.WARNING, f"the curator has {found}: {held}", remedy)


def _curator_in_manifest(manifest: Manifest, key: Path) -> Check:
    listed = manifest.certificate_of("curator", CURATOR)
    if listed is None or fitting_key(listed, key) is None:
        remedy = "Send the curator's answer to the organiser again, to be sealed."
        return bad("manifest", f"the certificate in it is not that of {key}", remedy)
    return good("manifest", f"{manifest.consortium}, serial {manifest.serial}, {len(manifest.members)} parties")


def _lasting(whose: str, certificate: bytes) -> Check:
    what = whose if whose == "certificate" else f"certificate of {whose}"
    left = days_left(x509.load_pem_x509_certificate(certificate))
    remedy = "Make a new one with `privity ROLE renew`, and have the organiser seal it."
    if left < 0:
        return bad(what, "it has expired", remedy)
    verdict = Verdict.GOOD if left > RENEW_DAYS else Verdict.WARNING
    return Check(what, verdict, f"{left} days left", "" if verdict is Verdict.GOOD else remedy)


def _waiting(key: Path, listed: bool) -> Iterator[Check]:
    """Keys that were renewed and are not in use yet, if there are any.

    Args:
        listed: whether the curator's manifest lists them.
    """
    if not Next(key).there():
        return
    folder = Next(key).folder
    if listed:
        yield good("renewal", f"the curator's manifest lists {folder}: it is taken with the next connection")
    else:
        found = f"{folder} is in no manifest that the curator is known to have"
        remedy = "Send the answer (join-NAME.json) to the organiser, if that was not done: it waits for being sealed."
        yield Check("renewal", Verdict.WARNING, found, remedy)


def _curator_is_renewed(manifests: ManifestFile, key: Path) -> bool:
    listed = manifests.current().certificate_of("curator", CURATOR) if manifests.exists() else None
    return listed is not None and fitting_key(listed, key) == Next(key).next_key


def _schema(file: Path, manifest: Manifest | None) -> Check:
    schema: Schema = load_schema(file)
    if manifest is not None and SchemaFile(file).named(manifest) is None:
        found = f"{file} is not the one that the manifest (serial {manifest.serial}) names"
        return bad("schema", found, f"Get the one with SHA-256 {manifest.schema_digest} from the organiser.")
    as_named = manifest is not None and schema.digest == manifest.schema_digest
    found = f"{len(schema.attributes)} attributes{', as in the manifest' if as_named else ''}"
    if named := in_words(schema):
        return Check("schema", Verdict.WARNING, f"{found}. {named}", f"{WHY} {REMEDY}")
    return good("schema", found)


def _ready_schema(file: Path) -> Iterator[Check]:
    """The newer schema that was accepted and is not in use yet, if there is one."""
    kept = SchemaFile(file)
    if kept.ready_path.exists() and (ready := kept.ready()) is not None:
        found = f"{kept.ready_path}, SHA-256 {ready.digest}, is kept ready until a manifest names it"
        remedy = "The curator must have accepted that manifest; the node takes it within a minute or two, between runs."
        yield Check("newer schema", Verdict.WARNING, found, remedy)


def _data(config: party_config.PartyConfig) -> Check:
    schema = load_schema(config.schema)
    opened = config.rows.open(schema, party_config.read_policy(config).population.rows_per_person)
    # How many of its places people fill is private where there are absent ones.
    what = "places" if schema.absent_rows else "rows"
    return good("data", f"{opened.rows.rows} {what}, all within the schema")


def _budget(config: party_config.PartyConfig) -> Check:
    policy = party_config.read_policy(config)
    with contextlib.closing(open_ledger(policy.population.name, config.ledger)) as ledger:
        left, held = ledger.left()[0], ledger.held()[0]
    reserved = f", besides {readable(held)} that runs have reserved" if held else ""
    if left <= 0:
        return bad(
            "budget", f"nothing is left{reserved}", "End here, or raise the total: privity population change --help."
        )
    verdict = Verdict.GOOD if left >= policy.epsilon_per_run else Verdict.WARNING
    return Check(
        "budget", verdict, f"epsilon {readable(left)} of {readable(policy.population.total_epsilon)} left{reserved}"
    )


def _ledger(config: party_config.PartyConfig) -> Check:
    """Whether the node would start over this ledger, and whether a second one of these people is another budget."""
    population = party_config.read_policy(config).population.name
    here = config.ledger or default_ledger(population)
    if (config.state / party_config.JOURNAL_FILE).exists():
        journal, ledger = party_config.open_books(config, population)
        with contextlib.closing(journal), contextlib.closing(ledger):
            ledger.check_not_frozen()
    others = [str(path) for path in other_ledgers(population, here)]
    if not others:
        return good("ledger", f"{here}, the only one of {population!r} that this account has used")
    found = f"{population!r} has another ledger, and so another budget: {', '.join(others)}"
    remedy = f"Merge it into this one: privity population merge {population!r} {others[0]} --ledger {here}"
    return Check("ledger", Verdict.WARNING, found, remedy)


def _other_nodes(config: party_config.PartyConfig) -> Check:
    """Whether the curator told this node of another one under its certificate."""
    what, journal = "other nodes", config.state / party_config.JOURNAL_FILE
    if journal.exists():
        with contextlib.closing(Journal(journal)) as opened:
            nodes = OtherNodes(config.name, opened)
            nodes.check()
            if (other := nodes.seen()) is not None:
                return Check(what, Verdict.WARNING, str(other), STOP_ONE)
    return good(what, "none was seen under this certificate")


def _disk(state: Path) -> Check:
    place = state if state.exists() else state.parent
    if not os.access(place, os.W_OK):
        return bad("disk", f"{place} cannot be written", "Give the node's user the right to write there.")
    free = shutil.disk_usage(place).free
    if free < FREE_BYTES:
        return Check("disk", Verdict.WARNING, f"{free // 1_000_000} MB left", "Make room: nothing goes on without.")
    return good("disk", f"{free // 1_000_000_000} GB left")


def _clock(certificate: bytes) -> Check:
    now = datetime.now(UTC)
    if now < x509.load_pem_x509_certificate(certificate).not_valid_before_utc:
        return bad("clock", f"{now:%Y-%m-%d %H:%M} UTC is before the certificate was made", "Set the clock.")
    return good("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def _listening(what: str, listen: str) -> Check:
    host, _, port = listen.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host.strip("[]"), int(port)))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not an address"
        remedy = "If it is not this node at work, choose another address, or end what listens there."
        return Check(what, Verdict.WARNING, f"{listen}: {reason}", remedy)
    return good(what, f"{listen} is free")
