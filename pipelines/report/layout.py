"""What a page is put together from: parts with a heading, alone or side by side; one half a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from pipelines.report.abstract import counted
from pipelines.results import DataFacts


class Part(NamedTuple):
    """A heading and what stands under it; nothing where there is nothing."""

    title: str
    content: str


@dataclass(frozen=True)
class Half:
    """All about one job."""

    title: str
    facts: str
    abstract: str
    parts: Sequence[Part | tuple[Part, Part]]  # two stand side by side
    repeat: Part


def body(half: Half, level: int) -> str:
    """The parts, their headings on that level."""
    shown = [
        section(part, level) if isinstance(part, Part) else beside(*(section(one, level) for one in part))
        for part in half.parts
    ]
    return "\n".join(text for text in shown if text)


def section(part: Part, level: int) -> str:
    """One part."""
    if not part.content:
        return ""
    return f"<section><h{level}>{escape(part.title)}</h{level}>{part.content}</section>"


def beside(*parts: str) -> str:
    """Side by side where there is room."""
    content = "".join(parts)
    return f'<div class="two">{content}</div>' if content else ""


def figure(picture: str, caption: str, kind: str = "") -> str:
    """A picture with its caption."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<figure{attribute}>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def note(text: str) -> str:
    """A quiet paragraph."""
    return f'<p class="note">{escape(text)}</p>'


def data_line(data: DataFacts) -> str:
    """The data in one line."""
    known = f", {len(data.classes)} known classes" if data.classes else ""
    return f"{counted(data.n_rows, 'row')}, {counted(data.n_features, 'column')} of {data.dtype}{known}"


def data_facts(data: DataFacts) -> list[tuple[str, str]]:
    """Where the data is and where it came from."""
    facts = [("name", data.name), ("path", data.path), ("rows", f"{data.n_rows:,}")]
    facts += [("columns", f"{data.n_features:,}"), ("type", data.dtype)]
    image = None if data.feature_shape is None else " x ".join(map(str, data.feature_shape))
    optional = (
        ("each row", image and f"an image of {image}"),
        ("classes", ", ".join(data.classes or ())),
        ("source", data.source),
        ("digest", data.digest),
    )
    return facts + [(label, value) for label, value in optional if value]
