"""What ``from privity import`` gives says ``privity`` wherever a person or a file reads its home, and loads no more."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import privity
import privity.common.errors
from privity import synthesizers
from privity.common.errors import Catalogue, Problem, RowProblemsFound

SOURCES = [Path(inspect.getfile(privity.common.errors)), *Path(inspect.getfile(synthesizers)).parent.glob("*.py")]
PROBLEM = Problem("people.json", "fields[1]", "enum", "'x' is not possible.", "Write 'y'.", line=3)


@pytest.mark.parametrize("name", privity.__all__)
def test_a_public_name_says_its_public_home(name: str) -> None:
    found = getattr(privity, name)
    assert f"{found.__module__}.{found.__qualname__}" == f"privity.{name}"
    if isinstance(found, type):
        assert repr(found) == f"<class 'privity.{name}'>"
    assert pydoc.plain(pydoc.render_doc(found)).splitlines()[0].endswith(f"{name} in module privity")
    pickled = pickle.dumps(found, 0)
    assert pickled.startswith(f"cprivity\n{name}\n".encode()), "by nothing but its public name"
    assert pickle.loads(pickled) is found


@pytest.mark.parametrize("name", privity.__all__)
def test_no_help_names_a_command(name: str) -> None:
    told = pydoc.plain(pydoc.render_doc(getattr(privity, name)))
    assert re.findall(r"`privity [a-z]|privity [a-z]+ --|(?<!\S)--[a-z]", told) == []


@pytest.mark.parametrize("name", privity.__all__)
def test_the_source_of_public_functions_and_methods_is_found(name: str) -> None:
    found = getattr(privity, name)
    own = [found] if inspect.isfunction(found) else [each for each in vars(found).values() if inspect.isfunction(each)]
    for function in own:
        if Path(function.__code__.co_filename) in SOURCES:  # not what a dataclass makes
            assert f"def {function.__name__}(" in inspect.getsource(function)


def test_of_a_class_itself_no_source_is_shown_rather_than_another_one() -> None:
    with pytest.raises(OSError, match=r"could not find class definition|source code not available"):
        inspect.getsource(privity.AIM)


def test_what_says_that_it_is_public_is_exported() -> None:
    said = [
        name
        for path in SOURCES
        for name in re.findall(
            r"^@public\n(?:@.*\n)*(?:class|def) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert sorted([*said, *synthesizers.CLASSES]) == privity.__all__


@pytest.mark.parametrize(
    "error",
    [
        privity.PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason="it is 0", hint="Give more."),
        privity.ProblemsFound([PROBLEM]),
        privity.NotFittedError("this AIM is not fitted"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_traceback_names_an_error_as_it_is_caught(error: Exception) -> None:
    said = "".join(traceback.format_exception_only(error))
    assert said == f"privity.{type(error).__name__}: {error}\n"
    assert isinstance(pickle.loads(pickle.dumps(error)), type(error))


@pytest.mark.parametrize("kind", [privity.ProblemsFound, RowProblemsFound])
def test_an_error_of_another_process_is_the_same_here(kind: type[privity.ProblemsFound]) -> None:
    error = kind([PROBLEM])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_class_that_somebody_derives_says_its_own_home() -> None:
    class Mine(privity.AIM):
        """Of a user."""

    assert Mine.__module__ == __name__


@pytest.mark.process
def test_an_error_can_be_imported_without_what_it_is_raised_by() -> None:
    code = (
        "import sys; from privity import PrivityError, ProblemsFound;"
        "print(*sorted(name for name in sys.modules if name.startswith(('privity', 'numpy', 'pandas', 'grpc'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "privity", "privity.common", "privity.common.errors", "privity.common.public_names", "privity.common.text",
        "privity.common.text.visible",
    ]  # fmt: skip
