"""Read an algorithm's settings from the plain document of a run spec; every fault at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privity.common.errors import Problem, ProblemsFound
from privity.common.privacy.budget import exact_number


class SettingsReader:
    """Reads key after key, notes every fault, and refuses at ``finish`` if there was one."""

    def __init__(self, algorithm: str, settings: Mapping[str, Any]) -> None:
        self._where = f"settings of {algorithm}"
        self._settings = settings
        self._known: list[str] = []
        self._problems: list[Problem] = []

    def _value(self, key: str) -> Any:
        if key not in self._known:
            self._known.append(key)
        return self._settings.get(key)

    def note(self, key: str, rule: str, message: str, remedy: str) -> None:
        self._problems.append(Problem(self._where, key, rule, message, remedy))

    def weight(self, key: str, default: Fraction, largest: Fraction = Fraction(1000)) -> Fraction:
        """A positive exact number given as text, such as "1/4" or "0.25"."""
        value = self._value(key)
        if value is None:
            return default
        try:
            number = exact_number(value) if isinstance(value, str) else Fraction(0)
        except (ValueError, ZeroDivisionError):
            number = Fraction(0)
        if not 0 < number <= largest:
            message = f"{value!r} is not a number above 0, at most {largest}, as text."
            self.note(key, "weight", message, 'Write for instance "1/4".')
            return default
        return number

    def share(self, key: str, default: Fraction, largest: Fraction) -> Fraction:
        """An exact part, 0 included, given as text."""
        return Fraction(0) if self._value(key) == "0" else self.weight(key, default, largest)

    def optional_weight(self, key: str, largest: Fraction) -> Fraction | None:
        return None if self._value(key) is None else self.weight(key, largest, largest)

    def whole(self, key: str, default: int, smallest: int, largest: int) -> int:
        value = self._value(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
            self.note(key, "range", f"{value!r} is out of range.", f"Write a number from {smallest} to {largest}.")
            return default
        return value

    def optional_whole(self, key: str, smallest: int, largest: int) -> int | None:
        return None if self._value(key) is None else self.whole(key, smallest, smallest, largest)

    def choice(self, key: str, default: str, allowed: Sequence[str]) -> str:
        value = self._value(key)
        if value is None:
            return default
        if value not in allowed:
            self.note(key, "choice", f"{value!r} is unknown.", f"Write one of: {', '.join(allowed)}.")
            return default
        return str(value)

    def optional_choice(self, key: str, allowed: Sequence[str]) -> str | None:
        return None if self._value(key) is None else self.choice(key, allowed[0], allowed)

    def document(self, key: str) -> dict[str, Any]:
        value = self._value(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.note(key, "document", f"{value!r} holds no settings.", "Write a JSON object.")
            return {}
        return value

    def read(self, key: str, default: str, check: Callable[[str], object]) -> str:
        """A text that ``check`` accepts; its ValueError says what is wrong with another."""
        value = self._value(key)
        if value is None:
            return default
        try:
            check(value if isinstance(value, str) else "")
        except (ValueError, ZeroDivisionError) as error:
            self.note(key, "text", f"{value!r}: {error}.", f"Write for instance {default!r}.")
            return default
        return str(value)

    def finish(self) -> None:
        """Raises ProblemsFound with everything that was wrong, unknown keys included."""
        for key in self._settings:
            if key not in self._known:
                self.note(key, "unknown", "there is no such setting.", f"Known: {', '.join(self._known) or 'none'}.")
        if self._problems:
            raise ProblemsFound(self._problems)
