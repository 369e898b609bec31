"""``privity party notices`` and ``privity curator notices`` in folders that the commands made; nobody serves."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.common.storage.journal import Journal
from privity.party.config import JOURNAL_FILE, load_config, outbox_of
from tests.harness.command import privity
from tests.harness.founding import found
from tests.harness.receivers import mail_server, webhook
from tests.harness.walkthrough import free_port

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("consortium")
    found(place, f"localhost:{free_port()}")
    return place


def settings(place: Path, name: str, notices: str) -> Path:
    """The settings of a member with a table of notices, as a file of its own beside them."""
    folder, file = name.split("/")
    changed = place / folder / f"with-notices-{file}"
    changed.write_text(f"{(place / name).read_text()}\n[notices]\n{notices}\n")
    return changed


@pytest.mark.parametrize(("group", "file"), [("party", "north/party.toml"), ("curator", "curator/curator.toml")])
def test_a_trial_says_of_each_channel_whether_it_was_taken(place: Path, group: str, file: str) -> None:
    plain = privity(group, "notices", "--config", place / file)
    assert (plain.returncode, "has no table `notices`" in plain.stdout) == (Exit.DONE, True)
    tried = privity(group, "notices", "--try", "--config", place / file)
    assert tried.returncode == Exit.INPUT
    with webhook() as hook, mail_server() as box:
        mail = f'mail_from = "node@example.org"\nmail_server = "127.0.0.1:{box.port}"'
        good = settings(place, file, f'webhook = "{hook.url}"\nmail_to = ["steward@example.org"]\n{mail}')
        done = privity(group, "notices", "--try", "--config", good)
        assert done.returncode == Exit.DONE, done.stderr
        assert done.stdout.splitlines() == ["127.0.0.1 took a trial.", "steward@example.org took a trial."]
        hook.answer = lambda handler: handler.send_response(410)
        bad = settings(
            place, file, f'webhook = "{hook.url}"\nmail_to = ["nobody@example.org", "dpo@example.org"]\n{mail}'
        )
        failed = privity(group, "notices", "--try", "--config", bad)
    assert failed.returncode == Exit.INPUT
    assert "notices.webhook: [not-taken] 127.0.0.1 answers 410" in failed.stderr
    assert "notices.mail_to: [not-taken] 127.0.0.1 takes no mail for nobody@example.org" in failed.stderr
    assert "secret-key" not in failed.stdout + failed.stderr
    assert [message["To"] for message in box.messages] == ["steward@example.org", "dpo@example.org"]


def test_what_was_posted_is_listed_with_what_became_of_it(place: Path) -> None:
    changed = settings(place, "north/party.toml", 'webhook = "http://127.0.0.1:9/secret-key"')
    file = changed.rename(place / "north" / "party.toml")
    config = load_config(file)
    config.state.mkdir(exist_ok=True)
    outbox = outbox_of(config, Journal(config.state / JOURNAL_FILE))
    outbox.post("autumn/waits", "autumn waits for your approval", "read it")
    (channel,) = outbox.channels.values()
    assert outbox.send_waiting(channel, datetime.now(UTC)) is False
    shown = privity("party", "notices", "--config", file).stdout
    assert "autumn waits for your approval" in shown
    assert "waits, tried 1 times: 127.0.0.1: " in shown
    assert "secret-key" not in shown
    doctor = privity("doctor", "--config", file).stdout
    assert re.search(r"notices to 127\.0\.0\.1 .*1 wait: 127\.0\.0\.1: ", doctor)
    assert "privity party notices --try" in doctor
    assert "secret-key" not in doctor
