"""Pictures of structures: every box in its place, every tie drawn, nothing over anything else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.pages.drawing import shortened
from privity.common.release.report.model_structure import NETWORK, Box, Structure, Tie
from privity.common.release.report.structure_drawing import MOST_IN_A_ROW, MOST_LETTERS, draw


def structure(boxes: int, ties: set[tuple[int, int]], shared: int = 0) -> Structure:
    names = tuple(Box((f"attribute {i}",), tuple(f"s{k}" for k in range(shared * (i % 3)))) for i in range(boxes))
    return Structure(NETWORK, "", names, tuple(Tie(a, b) for a, b in sorted(ties)), ())


@st.composite
def graphs(drawn) -> Structure:
    boxes = drawn(st.integers(1, 40))
    pairs = st.tuples(st.integers(0, boxes - 1), st.integers(0, boxes - 1)).filter(lambda p: p[0] < p[1])
    ties = drawn(st.sets(pairs, max_size=60)) if boxes > 1 else set()
    return structure(boxes, ties, drawn(st.integers(0, 2)))


@given(graphs())
def test_boxes_lie_apart_within_the_picture_and_ties_lead_down(graph):
    drawing = draw(graph)
    assert len(drawing.boxes) == len(graph.boxes)
    assert len(drawing.arrows) == len(graph.ties)
    for i, box in enumerate(drawing.boxes):
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= drawing.width + 0.1
        assert box.y + box.height <= drawing.height + 0.1
        for other in drawing.boxes[:i]:
            beside = box.x >= other.x + other.width or other.x >= box.x + box.width
            assert beside or box.y >= other.y + other.height or other.y >= box.y + box.height
        for text in box.texts:
            assert box.y < text.y < box.y + box.height
    for tie in graph.ties:
        assert drawing.boxes[tie.start].y + drawing.boxes[tie.start].height < drawing.boxes[tie.end].y
    assert draw(graph) == drawing


def test_a_picture_grows_downwards_and_not_to_the_side():
    star = structure(63, {(0, i) for i in range(1, 63)})
    drawing = draw(star)
    assert drawing.width < (MOST_IN_A_ROW + 1) * 170
    rows = {box.y for box in drawing.boxes}
    assert len(rows) == 1 + -(-62 // MOST_IN_A_ROW)


def test_63_attributes_of_two_parents_stay_readable():
    generator = np.random.default_rng(0)
    ties = {(int(p), i) for i in range(1, 63) for p in generator.integers(0, i, 2)}
    drawing = draw(structure(63, ties))
    assert drawing.width < 1600
    assert drawing.height < 6000


@pytest.mark.parametrize(
    ("text", "shown"),
    [("short", "short"), ("x" * 19, "x" * 19), ("x" * 20, "x" * 18 + "…"), ("病" * 12, "病" * 9 + "…"), ("", "")],
)
def test_long_names_are_cut_by_their_width(text, shown):
    assert shortened(text, MOST_LETTERS) == shown
