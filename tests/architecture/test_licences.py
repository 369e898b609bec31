"""The check of licences: what it takes for a GPL, and that nobody who installs Privity gets one."""

from __future__ import annotations

import runpy

import pytest

from tests.harness.places import ROOT

LICENCES = runpy.run_path(str(ROOT / ".ci" / "licences.py"))


@pytest.mark.parametrize(
    "text", ["GPL-3.0-or-later", "GNU General Public License v3 (GPLv3)", "AGPL-3.0", "GPL v2 or later", "GNU Affero"]
)
def test_a_gpl_is_forbidden(text: str) -> None:
    assert LICENCES["forbidden"](text)


@pytest.mark.parametrize(
    "text", ["Apache-2.0", "LGPL-3.0-only", "GNU Lesser General Public License v3", "MIT OR GPL-2.0-only", "MPL-2.0"]
)
def test_other_licences_and_a_choice_are_not(text: str) -> None:
    assert not LICENCES["forbidden"](text)


def test_nothing_that_users_install_is_under_a_gpl() -> None:
    found = LICENCES["installed"]()
    assert {"privity", "grpcio", "numpy", "cryptography"} <= set(found)
    assert "phe" not in found, "phe is under GPLv3: it belongs to the tests and the benchmarks"
    told = {name: LICENCES["licence"](one) for name, one in found.items() if one is not None}
    assert {name: text for name, text in told.items() if LICENCES["forbidden"](text)} == {}
