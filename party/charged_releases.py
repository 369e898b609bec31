"""Charged releases: check, charge, draw the noise, look at the rows, store the answer; in this order, once.

Every noisy answer about the rows is made here, for the network and for a single party alike. The ledger
and the journal each know that a step was answered: one of them alone, lost or set back to an older copy,
cannot bring about a second answer under fresh noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Allowance, Charge, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP, PureDP
from privity.common.privacy.random_bits import Entropy, SystemEntropy
from privity.common.privacy.sensitivity import scores
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.candidate_pairs import Candidates
from privity.common.protocol.expected_tables import SENSITIVITY, check_expected
from privity.common.protocol.round import Round, Scores
from privity.common.protocol.stated_charges import CATEGORIES
from privity.common.protocol.step_limits import check_candidates
from privity.common.protocol.steps import Select, SelectionStep, SelectTable, step_digest
from privity.common.storage.canonical_json import digest
from privity.common.storage.journal import Journal
from privity.party import answers_from_rows
from privity.party.sources.rows import Rows

FREE = PureDP(Fraction(0), RELATION)
NO_CONTRIBUTION = "this party did not contribute to the round"

EntropySource = Callable[[str], Entropy]


def system_entropy(_label: str) -> Entropy:
    """Noise from the operating system's randomness: the only source outside tests."""
    return SystemEntropy()


class ChargedReleases:
    """The rows of one owner behind its ledger and its journal.

    Args:
        entropy: gives the randomness for a step by its label; tests pass a seeded one.
        recode: codes the same rows by another schema; None where they are coded once and for all.
    """

    def __init__(
        self,
        party: str,
        rows: Rows,
        journal: Journal,
        ledger: Ledger,
        entropy: EntropySource = system_entropy,
        recode: Callable[[Schema], Rows] | None = None,
    ) -> None:
        self.party = party
        self.rows = rows.rows
        self.schema = rows.schema
        self.journal = journal
        self.ledger = ledger
        self._rows = rows
        self._scores = answers_from_rows.PairScores(rows)
        self._counts = answers_from_rows.TableCounts(rows)
        self._entropy = entropy
        self._recode = recode
        self._kept: tuple[tuple[str, ...], ChargedReleases] | None = None
        self._recoded: ChargedReleases | None = None

    @property
    def recodes(self) -> bool:
        """Whether the rows can be coded by another schema."""
        return self._recode is not None

    def recoded(self, schema: Schema) -> ChargedReleases:
        """The same rows coded by this schema, behind the same ledger and journal. The last one is held.

        Raises:
            PrivityError: source-changed: there are not as many rows as before, or the owner's map is another one; or
                as whoever opened the rows.
            ProblemsFound: rows that do not fit.
        """
        if self._recode is None:
            raise ValueError("these rows are coded once and for all")
        # Not its digest, which an open domain's edges do not enter.
        if self._recoded is None or self._recoded.schema != schema:
            rows = self._recode(schema)
            if rows.rows != self.rows or rows.schema.table_map != self.schema.table_map:
                raise PrivityError(Catalogue.SOURCE_CHANGED, source=self.party)
            self._recoded = ChargedReleases(self.party, rows, self.journal, self.ledger, self._entropy, self._recode)
        return self._recoded

    def over(self, attributes: tuple[str, ...] | None) -> ChargedReleases:
        """The same rows as far as a run about these attributes sees them; None stands for all.

        What is held of them is that of the last such run, so that memory and files do not grow with the runs.

        Raises:
            KeyError: an attribute that the schema does not have.
        """
        if attributes is None:
            return self
        if self._kept is None or self._kept[0] != attributes:
            part = self._rows.over(attributes)
            self._forget_rows()
            self._kept = (attributes, ChargedReleases(self.party, part, self.journal, self.ledger, self._entropy))
        return self._kept[1]

    def charge_elsewhere(self, run: str, loss: PureDP, allowance: Allowance) -> None:
        """Charge, once, what other parties' rows of these people may cost them in a run.

        Raises:
            PrivityError: as ``Ledger.charge``.
        """
        charge = Charge(run, "elsewhere", loss, for_a_person=True)
        self.ledger.charge(charge, allowance, self.party)
        self.ledger.settle(charge, hashlib.sha256(b"elsewhere").hexdigest())

    @property
    def table_digest(self) -> str:
        """Names the state of the rows. For this owner's own journal: it depends on rows and never leaves."""
        return self._rows.digest

    def noisy_vector(self, round_: Round, quota: int, allowance: Allowance, position: int = 0) -> np.ndarray:
        """The whole of what ``keep_vector`` keeps: int64 of shape (cells,)."""
        return _integers(self.keep_vector(round_, quota, allowance, position))

    def keep_vector(self, round_: Round, quota: int, allowance: Allowance, position: int = 0) -> bytes:
        """Make and keep this party's part of a round: its counts, where they enter, plus its noise share.

        In a round that replaces noise the share of the round before is taken out again. The same vector
        at every repetition.

        Args:
            quota: q = K - t; any q parties' shares sum to a discrete Laplace variable of the scale.
            position: of this party among the members of the plan, from 0.

        Returns:
            little-endian int64, one a cell.
        """
        round_.check(self.schema.derived, self.rows, quota)
        label = vector_label(round_.run, round_.round)

        def answer() -> bytes:
            change = self._new_share(round_, quota, label)
            if (old := self._old_share(round_, change.size)) is not None:
                change -= old
            query = round_.query
            if isinstance(query, Scores):
                change = answers_from_rows.noisy_scores(query.scores, self._rows, change)
            elif round_.adds_rows(position):
                change = answers_from_rows.noisy_counts(query.marginals, self._rows, change)
            return change.astype("<i8", copy=False).tobytes()

        if self.journal.digest(label) is None:
            self._old_share(round_, round_.cells(self.schema.derived.domain))  # before it is charged
        # Who adds noise to a sum that has no rows of its own gives one answer too, for nothing.
        loss = round_.noise.loss(RELATION) if round_.covers(position) else FREE
        charge = Charge(round_.run, f"round/{round_.round}", loss)
        stored = self._answer_once(label, _vector_content(round_, quota, position), charge, allowance, answer)
        if round_.replacement is not None and round_.replacement.last:
            # Rounds of one series have one name but for its end.
            self.journal.erase(f"{round_.run}/share/{round_.round.rpartition('/')[0]}/")
        return stored

    def vector_part(self, round_: Round, quota: int, position: int, cells: slice) -> np.ndarray:
        """These cells of the vector that was kept: int64.

        Raises:
            PrivityError: step-refused if none was kept, or step-changed if it was another's.
        """
        content = _vector_content(round_, quota, position)
        stored = self.journal.recall_part(
            vector_label(round_.run, round_.round), content, slice(8 * cells.start, 8 * cells.stop)
        )
        if stored is None:
            raise PrivityError(Catalogue.STEP_REFUSED, step=round_.round, reason=NO_CONTRIBUTION)
        return _integers(stored)

    def _old_share(self, round_: Round, cells: int) -> np.ndarray | None:
        """The share that this party has in the running sum; None if there is none yet."""
        r = round_.replacement
        if r is None or r.previous is None:
            return None
        stored = self.journal.recall(f"{round_.run}/share/{r.previous}", round_.series(r.previous_coverage))
        if stored is None or len(stored) != 8 * cells:
            reason = f"this party has no share in the round {r.previous}"
            raise PrivityError(Catalogue.ROUND_REFUSED, round=round_.round, reason=reason)
        return _integers(stored)

    def _new_share(self, round_: Round, quota: int, label: str) -> np.ndarray:
        """A fresh share of the noise on every cell; kept if a later round must take it out again."""

        def sample() -> np.ndarray:
            return round_.noise.sample(round_.query.cells(self.schema.derived.domain), quota, self._entropy(label))

        r = round_.replacement
        if r is None or r.last:
            return sample()
        key, content = f"{round_.run}/share/{round_.round}", round_.series(r.coverage)
        stored = self.journal.recall(key, content)
        if stored is None:
            stored = self.journal.record(key, content, sample().astype("<i8").tobytes())
        return _integers(stored)

    def select(self, step: SelectionStep, allowance: Allowance) -> int:
        """Index of the chosen candidate, a pair or a table; the same at every repetition."""
        sensitivity = scores(self._largest_move(step), RELATION)
        step.mechanism.check(sensitivity)
        label = f"{step.run}/selection/{step.selection}"

        def answer() -> bytes:
            choose = step.mechanism.sample(step.choices, sensitivity, self._entropy(label))
            if isinstance(step, SelectTable):
                return str(answers_from_rows.select_table(step.expected, self._counts, choose)).encode()
            return str(answers_from_rows.select_pair(step.candidates, step.score, self._scores, choose)).encode()

        charge = Charge(step.run, step.key, step.mechanism.loss(RELATION))
        return int(self._answer_once(label, step_digest(step), charge, allowance, answer))

    def categories(
        self,
        run: str,
        names: Sequence[str],
        mechanism: ThresholdedCounts,
        allowance: Allowance,
    ) -> dict[str, list[str]]:
        """The texts of these open attributes that many rows have; the same at every repetition.

        Raises:
            ValueError: more rows are counted than are priced; nothing is released then.
        """
        if mechanism.columns != len(names):
            raise PrivityError(Catalogue.STEP_REFUSED, step=CATEGORIES, reason="it is priced for other columns")
        label = f"{run}/{CATEGORIES}"

        def answer() -> bytes:
            noise = mechanism.sample(self.rows, self._entropy(label))
            return json.dumps(answers_from_rows.frequent_texts(names, self._texts, noise, mechanism.threshold)).encode()

        content = digest({"names": list(names), **mechanism.content()})
        charge = Charge(run, CATEGORIES, mechanism.loss(RELATION))
        found: dict[str, list[str]] = json.loads(self._answer_once(label, content, charge, allowance, answer))
        return found

    def _texts(self, name: str) -> Mapping[str, int]:
        """How many rows have each text of an attribute; each row that is priced has one at the most."""
        counts = self._rows.texts(name)
        if sum(counts.values()) > self.rows:
            raise ValueError("more rows are counted than are priced")
        return counts

    def _largest_move(self, step: SelectionStep) -> int:
        """By how much a row moves a score at most; refuses candidates that there are no scores of."""
        if isinstance(step, SelectTable):
            check_expected(step.expected, self.schema.derived, self.rows)
            return SENSITIVITY
        return self._move_of_pairs(step)

    def _move_of_pairs(self, step: Select) -> int:
        domain = self.schema.derived.domain
        check_candidates(step.candidates, self.schema.derived)
        if not all(all(group.parents.sets) for group in Candidates.of(step.candidates).groups):
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason="a candidate has no parents")
        if not answers_from_rows.has_score(step.candidates, domain, self.rows, step.score):
            reason = f"there is no score {step.score!r} for these attributes or so many rows"
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason=reason)
        return answers_from_rows.selection_sensitivity(step.candidates, domain, self.rows, step.score)

    def _answer_once(
        self, label: str, content: str, charge: Charge, allowance: Allowance, answer: Callable[[], bytes]
    ) -> bytes:
        """The answer under this label: the stored one, or a new one that is charged first."""
        stored = self.journal.recall(label, content)
        if stored is None:
            if self.ledger.charge(charge, allowance, self.party):
                # The journal was lost or set back to an older copy. Nothing is drawn: what came out could be compared.
                raise PrivityError(Catalogue.STEP_ANSWERED, step=charge.step, run=charge.run)
            stored = self.journal.record(label, content, answer())
        self.ledger.settle(charge, hashlib.sha256(stored).hexdigest())
        return stored

    def check_affordable(self, most: ApproxDP) -> None:
        """Refuse a run that the ledger could not pay for to its end, before anything is spent on it."""
        self.ledger.check(most, self.party)

    def reserve(self, run: str, most: ApproxDP) -> None:
        """Reserve what a run may cost a person to its end, or refuse it; the same again changes nothing."""
        self.ledger.reserve(run, most, self.party)

    def forget(self, run: str) -> None:
        """Return what a closed run reserved and did not spend, and erase its vectors and answers, in this order.

        The ledger keeps the charges and that they were answered.
        """
        self._forget_rows()
        self.ledger.give_back(run)
        self.journal.erase(f"{run}/")

    def _forget_rows(self) -> None:
        """Of all views at once: they may share a file of coded rows."""
        for seen in (self,) if self._kept is None else (self, self._kept[1]):
            seen._scores.forget()
            seen._counts.forget()
        self._kept = self._recoded = None


def vector_label(run: str, round_: str) -> str:
    """Key of what this party kept for a round."""
    return f"{run}/vector/{round_}"


def _vector_content(round_: Round, quota: int, position: int) -> str:
    # A share of another quota is another answer: it must not pass for this one.
    return digest({"round": round_.digest, "quota": quota, "position": position})


def _integers(stored: bytes) -> np.ndarray:
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)
