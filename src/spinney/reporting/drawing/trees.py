"""The tab of trees: pictures to zoom and fold, rows to follow, candidates of the nodes, rules."""

from __future__ import annotations

from typing import Any

from spinney.plotting.picture import BAR, FONT, LINE_HEIGHT, Box, Edge, text_width
from spinney.reporting.drawing.markup import clean, data, details, number, percent, table, text
from spinney.reporting.shown_trees import TreeRecord, Trees

_THINNEST = 1.5  # pixels of a class in the bar of a node
_MANY_NODES = 31  # a tree of more nodes is shown folded


def draw_trees(found: Trees) -> str:
    """Return the trees with their controls."""
    options = "".join(f'<option value="{k}">{text(one.title)}</option>' for k, one in enumerate(found.trees))
    rows = "".join(
        f'<option value="{k}">{text(one.label)}{": " + text(one.outcome) if one.outcome else ""}</option>'
        for k, one in enumerate(found.followed)
    )
    follow = (
        f'<label>Follow <select id="follow"><option value="">no row</option>{rows}</select></label>'
        if rows
        else ""
    )
    controls = (
        f'<div class="controls"><label>Show <select id="tree-choice">{options}</select></label>{follow}'
        '<span class="buttons"><button type="button" data-zoom="out" aria-label="zoom out">−</button>'
        '<button type="button" data-zoom="fit">Fit</button><button type="button" data-zoom="in" '
        'aria-label="zoom in">+</button>'
        '<button type="button" data-fold="all">Fold</button><button type="button" '
        'data-fold="none">Unfold</button></span></div>'
    )
    note = (
        f"<p>{len(found.trees)} of {found.n_trees:,} trees are shown. "
        if found.n_trees > len(found.trees)
        else "<p>"
    )
    note += "Select a node to see its numbers"
    note += (
        " and the split candidates that the ledger recorded."
        if found.has_ledger
        else (
            '. Fit with <code>ledger=True</code> (boosting: <code>"full"</code>) to see the candidates '
            "of each split here."
        )
    )
    pictures = "".join(_tree(k, one) for k, one in enumerate(found.trees))
    panel = (
        '<div class="side"><div id="node-panel" class="card" aria-live="polite"><h4>Node</h4><p '
        'class="faint">No node is selected.</p></div>'
        '<div id="row-panel" class="card" aria-live="polite" hidden></div></div>'
    )
    return (
        f'{note}</p>{controls}<div class="treebox">{pictures}'
        f"</div>{panel}{_rules(found)}{data('tree-data', _payload(found))}"
    )


def _tree(k: int, one: TreeRecord) -> str:
    picture = one.picture
    marks = [_edge(edge, child) for child, edge in enumerate(picture.edges, start=1)]
    inner = set(one.parents[1:])
    legend = "".join(
        f'<rect x="{x:.0f}" y="{y + 2:.0f}" width="12" height="12" rx="2" fill="{color}"/>'
        f'<text class="edge-label" x="{x + LINE_HEIGHT + 2:.0f}" y="{y + FONT:.0f}">{text(name)}</text>'
        for x, y, color, name in picture.legend
    )
    nodes = "".join(_node(box, box.node in inner) for box in picture.boxes)
    cut = "" if len(picture.boxes) == one.n_nodes else f", drawn down to {len(picture.boxes)} nodes"
    label = f"{one.title}: {one.n_nodes} nodes, {one.n_leaves} leaves, depth {one.max_depth}{cut}"
    hidden = " hidden" if k else ""
    return (
        f'<div class="tree" data-tree="{k}"{hidden}><p class="faint">{text(label)}</p>'
        f'<div class="scroll canvas" tabindex="0" role="group" aria-label="{text(label)}">'
        f'<svg class="treepic" data-legend="{_legend_width(one):.0f}" width="{picture.width:.0f}" '
        f'viewBox="0 0 {picture.width:.0f} '
        f'{picture.height:.0f}" '
        f'font-size="{FONT:g}" role="group" '
        f'aria-label="{text(one.title)}">{legend}{"".join(marks)}{nodes}</svg></div></div>'
    )


def _edge(edge: Edge, child: int) -> str:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3), (_, y4) = edge.corners
    path = f"M{x0:.0f} {y0:.0f}C{x1:.0f} {y1:.0f} {x2:.0f} {y2:.0f} {x3:.0f} {y3:.0f}V{y4:.0f}"
    label = ""
    if edge.label:
        label = (
            f'<text class="edge-label" x="{edge.x1:.0f}" y="{edge.y1 - 7:.0f}" '
            f'text-anchor="middle">{text(edge.label)}</text>'
        )
    return (
        f'<g data-edge="{child}"><path class="edge" stroke-width="{edge.width:.1f}" d="{path}"/>{label}</g>'
    )


def _node(box: Box, is_inner: bool) -> str:
    left, bold = box.x - box.width / 2, ' class="b"'
    lines = "".join(
        f'<tspan x="{box.x:.0f}" dy="{LINE_HEIGHT if k else 0:g}"{bold if k < box.n_bold else ""}>'
        f"{text(line)}</tspan>"
        for k, line in enumerate(box.lines)
    )
    bars = ""
    if box.proportions:
        bars = "".join(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.1f}" height="{BAR:g}" fill="{color}"/>'
            for x, y, width, color in box.bar
            if width >= _THINNEST
        )
    fold = ""
    if is_inner:
        fold = (
            f'<g class="fold" role="button" tabindex="0" aria-expanded="true" '
            f'aria-label="fold below node {box.node}" '
            f'transform="translate({box.x:.0f} {box.y + box.height:.0f})">'
            '<circle r="8"/><path d="M-4 0h8"/><path class="plus" d="M0-4v8"/></g>'
        )
    head = text("; ".join(box.lines[: max(box.n_bold, 1)]))
    return (
        f'<g class="node" data-node="{box.node}">'
        f'<g class="box" role="button" tabindex="0" aria-label="node {box.node}: {head}">'
        f'<rect x="{left:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="5" '
        f'fill="{box.fill}"/><text y="{box.y + 8 + FONT:.0f}">{lines}</text>{bars}</g>{fold}</g>'
    )


def _payload(found: Trees) -> dict[str, Any]:
    trees = [
        {
            "p": one.parents,
            "x": [round(box.x) for box in one.picture.boxes],
            "y": [round(box.y) for box in one.picture.boxes],
            "b": [round(box.y + box.height) for box in one.picture.boxes],
            "w": [round(max(box.width, label)) for box, label in zip(one.picture.boxes, labels, strict=True)],
            "d": len(one.parents) > _MANY_NODES,
            "h": [clean(box.hint, 400) for box in one.picture.boxes],
            "c": {
                str(node): [[clean(c.split), number(c.score), number(c.gain), int(c.chosen)] for c in several]
                for node, several in one.candidates.items()
            },
        }
        for one, labels in ((one, _label_widths(one)) for one in found.trees)
    ]
    rows = [
        {
            "l": one.label,
            "o": clean(one.outcome),
            "p": one.paths,
            "c": [[clean(f, 60), clean(v, 40), round(x, 6), number(x, 3)] for f, v, x in one.contributions],
            "b": number(one.base_value),
            "s": clean(one.output, 80),
        }
        for one in found.followed
    ]
    return {"trees": trees, "rows": rows}


def _legend_width(one: TreeRecord) -> float:
    """Return where the legend of a tree ends."""
    return max((x + LINE_HEIGHT + 16 + text_width(name) for x, _, _, name in one.picture.legend), default=0.0)


def _label_widths(one: TreeRecord) -> list[float]:
    """Return the widths of the labels of the edges to the nodes; the root has none."""
    return [0.0, *(text_width(edge.label) + 4 for edge in one.picture.edges)]


def _rules(found: Trees) -> str:
    rows = [
        [f"<code>{text(when, 500)}</code>", f"<code>{text(then)}</code>", percent(share)]
        for when, then, share in found.rules
    ]
    which = f"{len(rows)} of {found.n_rules} rules of the first tree, by share of the training rows"
    listing = table(["If", "Then", "Share"], rows, caption=which, numeric=[2], sortable=True)
    return details(f"Rules ({found.n_rules})", listing)
