"""The tab that says how to get the model again."""

from __future__ import annotations

from spinney.reporting.drawing.markup import details, table, text
from spinney.reporting.provenance import Provenance

_MAX_FACT = 1000


def draw_provenance(found: Provenance) -> str:
    """Return versions, seed, hashes, parameters and the command."""
    facts = [
        ("Model", text(found.class_name)),
        ("Report made", text(found.created)),
        ("Seed", f"<code>random_state={text(found.seed)}</code>" if found.seed else "the model has none"),
        (
            "Model hash",
            f"<code>{found.model_hash}</code>" if found.model_hash else "the model cannot be saved",
        ),
        ("Hash of the reported rows", f"<code>{found.data_hash}</code>"),
        *((text(name), text(value)) for name, value in found.versions),
        *((text(name), text(value, _MAX_FACT)) for name, value in found.metadata),
    ]
    versions = table(
        ["Fact", "Value"],
        [[f"<b>{a}</b>", b] for a, b in facts],
        caption="Origin of the model and this report",
    )
    changed = [(name, value) for name, value, is_default in found.parameters if not is_default]
    same = [(name, value) for name, value, is_default in found.parameters if is_default]
    parts = ["<h3>Command</h3>", f'<pre tabindex="0">{text(found.command, 4000)}</pre>', versions]
    for title, pairs in (
        ("Parameters that were set", changed),
        ("Parameters that were chosen by fit", found.chosen),
        ("Parameters at their defaults", same),
    ):
        if pairs:
            rows = [[f"<code>{text(name)}</code>", f"<code>{text(value)}</code>"] for name, value in pairs]
            parts.append(
                details(f"{title} ({len(rows)})", table(["Parameter", "Value"], rows, caption=title))
            )
    return "".join(parts)
