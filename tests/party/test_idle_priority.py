"""Idle time: work goes on while the party waits, stops when it does not, and never ends the node."""

from __future__ import annotations

import os
import threading
import time

from privity.party.randomness_ahead import LOWEST_PRIORITY, IdleTime


def wait_until(condition, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def test_it_prepares_while_the_party_waits_and_until_there_is_nothing_to_prepare() -> None:
    made: list[int] = []
    limit = 5

    def prepare() -> bool:
        if len(made) >= limit:
            return False
        made.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return True

    with IdleTime(prepare) as idle:
        assert made == []
        with idle.waiting():
            wait_until(lambda: len(made) == 5)
        limit = 8
        with idle.waiting():
            wait_until(lambda: len(made) == 8)
    assert set(made) == {LOWEST_PRIORITY}
    assert os.getpriority(os.PRIO_PROCESS, 0) < LOWEST_PRIORITY


def test_an_error_in_it_is_logged_by_class_and_harms_nothing(caplog) -> None:
    calls = 0

    def prepare() -> bool:
        nonlocal calls
        calls += 1
        raise ValueError("a secret")

    with IdleTime(prepare) as idle:
        for number in (1, 2):
            with idle.waiting():
                wait_until(lambda n=number: len(caplog.records) == n)
    assert calls == 2
    assert [(record.msg, record.error) for record in caplog.records] == [
        ("randomness cannot be made ahead", "ValueError")
    ] * 2
