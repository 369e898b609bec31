"""The consortium of compose.yaml, started through the docker SDK (extra ``containers``); see docs/deploy.md.

    python -m privity.deploy.packaging.containers up --folder DIR
    python -m privity.deploy.packaging.containers operator --folder DIR run submit --epsilon 1 --out release
    python -m privity.deploy.packaging.containers down

It goes by the members' folders as they are found: a party for each ``party.toml``, a curator for ``curator.toml``.
Parties charge the ledgers of the user account that runs it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.ledger_folder import ledgers_folder
from privity.common.text.terminal import say
from privity.interfaces.cli.main import run
from privity.party.config import load_config, read_policy

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = "deploy/packaging/Dockerfile"
NODE = PurePosixPath("/node")
STATE_HOME = PurePosixPath("/state")
"""XDG_STATE_HOME of the image."""

LABEL = "privity.consortium"
OPERATOR = "operator"
ROLES = {"curator": "privity-curator", "party": "privity-party", OPERATOR: "privity"}
"""Role to entry point; a member's folder holds ROLE.toml."""

HEALTH = "import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
SECOND = 1_000_000_000
LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Member:
    """One member's container.

    Attributes:
        mounts: (source here, target there, read only).
        dials: ``host:port`` of the curator; None for the curator.
        port: that the curator listens on; None for everybody else.
    """

    name: str
    role: str
    owner: str
    mounts: tuple[tuple[Path, PurePosixPath, bool], ...]
    dials: str | None
    port: int | None

    def options(self) -> dict[str, Any]:
        """What the engine is asked for, as in compose.yaml."""
        from docker.types import Mount

        asked: dict[str, Any] = {
            "entrypoint": [ROLES[self.role]],
            "user": self.owner,
            "working_dir": str(NODE),
            "init": True,
            "read_only": True,
            "tmpfs": {"/tmp": ""},  # noqa: S108 - in the container
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "mounts": [Mount(str(there), str(here), type="bind", read_only=only) for here, there, only in self.mounts],
        }
        if self.role != OPERATOR:
            asked |= {"command": ["serve"], "restart_policy": {"Name": "unless-stopped"}}
        if self.port is not None:
            test = ["CMD", "python3", "-c", HEALTH.format(port=self.port)]
            times = {"interval": 30 * SECOND, "timeout": 5 * SECOND, "start_period": 20 * SECOND}
            asked["healthcheck"] = {"test": test, "retries": 3, **times}
        return asked


def member_of(folder: Path, role: str) -> Member:
    """The container for a member's folder.

    Raises:
        ProblemsFound: its ledger has no folder of its own that could be mounted.
    """
    settings = read_toml(folder / f"{role}.toml", role)
    mounts = [(folder, NODE, False)]
    if role == "party":
        inside = PurePosixPath(os.path.normpath(NODE / settings["data"]))
        if not inside.is_relative_to(NODE):
            mounts.append((Path(os.path.normpath(folder / settings["data"])), inside, True))
        mounts += _ledger_mounts(folder, settings.get("ledger"))
    owner = folder.stat()
    port = int(settings["listen"].rpartition(":")[2]) if role == "curator" else None
    return Member(folder.name, role, f"{owner.st_uid}:{owner.st_gid}", tuple(mounts), settings.get("curator"), port)


def _ledger_mounts(folder: Path, named: str | None) -> list[tuple[Path, PurePosixPath, bool]]:
    """The account's ledgers, and the folder of the ledger that party.toml names, if that is outside the node's.

    Folders, not files: SQLite keeps two more files beside a ledger.
    """
    account = ledgers_folder().parent
    mounts = [(account, STATE_HOME / account.name, False)]
    if named is not None:
        inside = PurePosixPath(os.path.normpath(NODE / named))
        if inside.parent == PurePosixPath("/"):
            message = f"{named} would lie in the root folder of a container, which cannot be mounted."
            remedy = "Put the ledger in a folder of its own."
            raise ProblemsFound([Problem(str(folder / "party.toml"), "ledger", "mountable", message, remedy)])
        if not inside.is_relative_to(NODE):
            mounts.append((Path(os.path.normpath(folder / named)).parent, inside.parent, False))
    return mounts


def check_declared(folder: Path, members: Sequence[Member]) -> None:
    """Refuse to start parties whose population this account has not declared.

    Raises:
        PrivityError, ProblemsFound: as ``privity.party.config.read_policy``.
    """
    for member in members:
        if member.role == "party":
            read_policy(load_config(folder / member.name / "party.toml"))


def members_of(folder: Path) -> tuple[Member, ...]:
    """Everybody whose folder lies in this one, the curator first.

    Raises:
        PrivityError: no curator or no party is here, or they cannot reach each other between containers.
    """
    folder = folder.absolute()
    found = [member_of(file.parent, role) for role in ROLES for file in sorted(folder.glob(f"*/{role}.toml"))]
    for role in ("curator", "party"):
        if not any(member.role == role for member in found):
            raise PrivityError(Catalogue.FILE_MISSING, file=folder / "*" / f"{role}.toml")
    hosts = {member: member.dials.rpartition(":")[0] for member in found if member.dials is not None}
    usual = next(iter(hosts.values()))
    problems = [
        Problem(
            str(folder / member.name / f"{member.role}.toml"), "curator", "reachable",
            f"{member.dials} leads nowhere in a container." if host in LOCAL else f"{usual} is what another one dials.",
            "Found the consortium with `--curator curator:7443`.",
        )
        for member, host in hosts.items() if host in LOCAL or host != usual
    ]  # fmt: skip
    if problems:
        raise ProblemsFound(problems)
    return tuple(found)


@contextlib.contextmanager
def engine() -> Iterator[DockerClient]:
    """The container engine that answers here; what it refuses is told in its own words.

    Raises:
        PrivityError: none answers, or it refuses.
    """
    try:
        import docker
    except ImportError:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="containers", reason="the docker SDK is not installed",
            hint="Install the extra: pip install 'privity[containers]'.",
        ) from None  # fmt: skip
    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException as error:
        raise PrivityError(
            Catalogue.CONNECTION_FAILED, address="a container engine", reason=str(error),
            hint="Start it, or say in DOCKER_HOST where it listens.",
        ) from None  # fmt: skip
    try:
        yield client
    except docker.errors.DockerException as error:
        raise PrivityError(
            Catalogue.BAD_OPTION,
            option="container engine",
            reason=str(error),
            hint="See its log.",
        ) from None
    finally:
        client.close()


def build(client: DockerClient, image: str, base: str | None = None) -> None:
    """Build the image from the project's folder.

    Args:
        base: the image to build on, if it is not the one that the Dockerfile names.
    """
    from docker.errors import BuildError

    if not (ROOT / "pyproject.toml").exists():
        raise PrivityError(Catalogue.FILE_MISSING, file=ROOT / "pyproject.toml")
    arguments = {"BASE": base} if base else {}
    try:
        client.images.build(
            path=str(ROOT), dockerfile=DOCKERFILE, tag=image, buildargs=arguments, rm=True, forcerm=True
        )
    except BuildError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=DOCKERFILE, reason=str(error.msg)) from None


def start(client: DockerClient, members: Sequence[Member], name: str, image: str) -> None:
    """Start curator and parties in a network of their own; all of them or none.

    Raises:
        PrivityError: a consortium of this name is there.
    """
    if client.networks.list(names=[name]):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="name", reason=f"a network {name} is there already",
            hint="Choose another name, or take that consortium down first.",
        )  # fmt: skip
    client.networks.create(name, driver="bridge", internal=True, labels={LABEL: name})
    try:
        for member in members:
            if member.role != OPERATOR:
                create(client, members, member, name, image, []).start()
    except BaseException:
        stop(client, name)
        raise


def create(
    client: DockerClient, members: Sequence[Member], member: Member, name: str, image: str, arguments: Sequence[str]
) -> Container:
    """A member's container, not started yet; the curator goes by the host name that the others dial."""
    dialled = next(m.dials for m in members if m.dials is not None).rpartition(":")[0]
    alias = dialled if member.role == "curator" else member.name
    options = {"command": list(arguments), **member.options()}
    return client.containers.create(
        image,
        name=f"{name}-{member.name}",
        labels={LABEL: name},
        network=name,
        networking_config={name: client.api.create_endpoint_config(aliases=[alias])},
        **options,
    )


def operate(client: DockerClient, members: Sequence[Member], name: str, image: str, arguments: Sequence[str]) -> int:
    """Run ``privity ARGUMENTS`` as the operator, in a container of its own, and show what it says: its exit code."""
    operator = next((member for member in members if member.role == OPERATOR), None)
    if operator is None:
        raise PrivityError(Catalogue.FILE_MISSING, file=Path("*") / f"{OPERATOR}.toml")
    container = create(client, members, operator, name, image, arguments)
    try:
        container.start()
        for chunk in container.logs(stream=True, follow=True):
            say(*chunk.decode(errors="replace").split("\n"), end="")
        return int(container.wait()["StatusCode"])
    finally:
        container.remove(force=True)


def stop(client: DockerClient, name: str) -> None:
    """Remove containers and network; the members' folders stay as they are."""
    for container in client.containers.list(all=True, filters={"label": f"{LABEL}={name}"}):
        container.stop()
        container.remove(force=True)
    for network in client.networks.list(filters={"label": f"{LABEL}={name}"}):
        network.remove()


app = typer.Typer(no_args_is_help=True, add_completion=False, help="A consortium in containers on this machine.")

Folder = Annotated[Path, typer.Option(help="where the members' folders are")]
Name = Annotated[str, typer.Option(help="of the network; containers are called NAME-MEMBER")]
Image = Annotated[str, typer.Option(help="the image's tag")]
HERE = Path()


@app.command("build")
def build_command(
    image: Image = "privity", base: Annotated[str | None, typer.Option(help="another image to build on")] = None
) -> None:
    """Build the image."""
    with engine() as client:
        build(client, image, base)


@app.command("up")
def up_command(folder: Folder = HERE, name: Name = "privity", image: Image = "privity") -> None:
    """Start curator and parties."""
    members = members_of(folder)
    check_declared(folder, members)
    with engine() as client:
        start(client, members, name, image)


@app.command("operator", context_settings={"ignore_unknown_options": True})
def operator_command(
    arguments: Annotated[list[str], typer.Argument(help="what to run, such as: run submit --epsilon 1 --out release")],
    folder: Folder = HERE,
    name: Name = "privity",
    image: Image = "privity",
) -> None:
    """Run a command as the operator."""
    members = members_of(folder)
    with engine() as client:
        code = operate(client, members, name, image, arguments)
    raise typer.Exit(code)


@app.command("down")
def down_command(name: Name = "privity") -> None:
    """Stop and remove curator and parties; their folders stay."""
    with engine() as client:
        stop(client, name)


if __name__ == "__main__":
    run(app)
