import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.plotting.picture import tidy_positions


@st.composite
def trees(draw):
    """Children by node, breadth first, and widths."""
    children, count = [[]], 1
    for node in range(draw(st.integers(0, 25))):
        if node < len(children):
            n = draw(st.sampled_from([0, 2, 2, 3, 5]))
            children[node] = list(range(count, count + n))
            children += [[] for _ in range(n)]
            count += n
    return children, draw(st.lists(st.floats(1, 90), min_size=count, max_size=count))


def levels_of(children):
    level = [0]
    while level:
        yield level
        level = [child for node in level for child in children[node]]


@given(trees())
def test_no_two_boxes_of_a_level_overlap_and_order_is_kept(case):
    children, widths = case
    x = tidy_positions(children, widths, gap=3.0)
    for level in levels_of(children):
        for left, right in itertools.pairwise(level):
            assert x[right] - x[left] >= (widths[left] + widths[right]) / 2 + 3.0 - 1e-6


@given(trees())
def test_parents_stand_over_the_middle_of_their_children_and_nothing_is_left_of_zero(case):
    children, widths = case
    x = tidy_positions(children, widths, gap=3.0)
    for node, below in enumerate(children):
        if below:
            assert x[node] == pytest.approx((x[below[0]] + x[below[-1]]) / 2)
    assert min(np.array(x) - np.array(widths) / 2) == pytest.approx(0.0, abs=1e-6)


def test_a_deep_child_may_reach_under_its_neighbour():
    """0 → 1, 2; 1 → 3, 4: the wide level below 1 does not push 2 away."""
    x = tidy_positions([[1, 2], [3, 4], [], [], []], [10.0] * 5, gap=2.0)
    assert x[2] - x[1] == 12.0


def test_the_same_shape_is_drawn_the_same_way():
    x = tidy_positions([[1, 2], [3, 4], [5, 6], [], [], [], []], [10.0] * 7, gap=2.0)
    assert x[4] - x[3] == x[6] - x[5] == 12.0 and x[5] - x[4] == 12.0


def naive_positions(children, widths, gap):
    """Lay out by contours that are copied at every node: quadratic in the depth."""
    from_parent, contours = [0.0] * len(children), {}
    for node in range(len(children) - 1, -1, -1):
        left, right, offsets = [], [], []
        for child in children[node]:
            child_left, child_right = contours.pop(child)
            pairs = zip(right, child_left, strict=False)
            offset = max((end - start + gap for end, start in pairs), default=0.0)
            offsets.append(offset)
            left += [edge + offset for edge in child_left[len(left) :]]
            right[: len(child_right)] = [edge + offset for edge in child_right]
        middle = (offsets[0] + offsets[-1]) / 2 if offsets else 0.0
        for child, offset in zip(children[node], offsets, strict=True):
            from_parent[child] = offset - middle
        half = widths[node] / 2
        contours[node] = [-half, *(e - middle for e in left)], [half, *(e - middle for e in right)]
    centre = [-min(contours[0][0])] + [0.0] * (len(children) - 1)
    for node, below in enumerate(children):
        for child in below:
            centre[child] = centre[node] + from_parent[child]
    return centre


def test_positions_are_those_of_copied_contours():
    rng = np.random.default_rng(0)
    for _ in range(50):
        children, n = [[]], 1
        for node in range(30):
            if node >= len(children):
                break
            children[node] = list(range(n, n + int(rng.integers(0, 4))))
            n += len(children[node])
            children += [[] for _ in children[node]]
        widths = rng.uniform(5, 50, n).tolist()
        positions = tidy_positions(children, widths, 3.0)
        np.testing.assert_allclose(positions, naive_positions(children, widths, 3.0), atol=1e-9)


def test_a_deep_chain_takes_linear_time():
    depth = 20_000  # with copied contours, 400 million steps
    children = [[] for _ in range(2 * depth + 1)]
    for level in range(depth):
        children[2 * level] = [2 * level + 1, 2 * level + 2]
    positions = tidy_positions(children, [10.0] * len(children), 2.0)
    assert positions[0] < positions[2] < positions[-1]
