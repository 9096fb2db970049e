"""Where the nodes of a drawn tree stand: as close as their widths allow, parents above their children."""

from __future__ import annotations

from collections.abc import Sequence


def tidy_positions(children: Sequence[Sequence[int]], widths: Sequence[float], gap: float) -> list[float]:
    """Give the centre of each node from left to right, the leftmost edge at 0 (after Reingold and Tilford).

    children and widths have one entry a node, and children come after their parent. Subtrees are pushed
    together until somewhere on a shared level only gap is left between them.

    >>> tidy_positions([[1, 2], [], []], [10, 10, 10], gap=2)
    [11.0, 5.0, 17.0]
    """
    from_parent = [0.0] * len(children)
    # By node: the left and right edge of its subtree at each level down from it, measured from its centre.
    outlines: dict[int, tuple[list[float], list[float]]] = {}
    for node in range(len(children) - 1, -1, -1):
        left: list[float] = []
        right: list[float] = []
        places = []
        for child in children[node]:
            child_left, child_right = outlines.pop(child)
            place = max(
                (end - start + gap for end, start in zip(right, child_left, strict=False)), default=0.0
            )
            places.append(place)
            left += [edge + place for edge in child_left[len(left) :]]
            right[: len(child_right)] = [edge + place for edge in child_right]
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(children[node], places, strict=True):
            from_parent[child] = place - middle
        half = widths[node] / 2
        outlines[node] = (
            [-half, *(edge - middle for edge in left)],
            [half, *(edge - middle for edge in right)],
        )
    centre = [0.0] * len(children)
    centre[0] = -min(outlines[0][0])
    for node, below in enumerate(children):
        for child in below:
            centre[child] = centre[node] + from_parent[child]
    return centre
