"""Colours, hatches and dashes: one for L4S, one for Classic, one for each single queue.

The hues keep apart under the common deficiencies of colour vision, and those that meet in one
figure differ in lightness, so that they also keep apart on a printer without colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Palette:
    """The colours of a light or a dark page."""

    paper: str
    ink: str
    #: Text and lines to read by.
    soft: str
    #: The ground of cells.
    ground: str
    #: Senders by how they answer congestion; the queues L and C have those of L4S and Classic.
    traffic: Mapping[str, str]
    #: Single queues by discipline.
    aqm: Mapping[str, str]
    #: Colours for others, in order of appearance.
    rest: tuple[str, ...]
    #: Fill, edge and sign of each verdict of the traffic lights.
    lights: Mapping[str, tuple[str, str, str]]


LIGHT = Palette(
    paper="#ffffff",
    ink="#16202c",
    soft="#5b6775",
    ground="#f1f4f6",
    traffic=MappingProxyType(
        {"l4s": "#074e93", "classic": "#ec5e0b", "classic-ecn": "#e5b212", "udp": "#66717e"}
    ),
    aqm=MappingProxyType(
        {
            "pie": "#8250b8",
            "fq_codel": "#14bb8f",
            "codel": "#c84996",
            "pi2": "#6e7f1c",
            "red": "#632e28",
            "cobalt": "#1b8090",
            "fifo": "#66717e",
        }
    ),
    rest=("#3d4652", "#c08a3e", "#6f93c4", "#9fb57f"),
    lights=MappingProxyType(
        {
            "right": ("#58b68c", "#58b68c", "#ffffff"),
            "rest": ("#ffffff", "#58b68c", "#2f8f66"),
            "amber": ("#ffc233", "#ffc233", "#5a3d00"),
            "red": ("#b3201f", "#b3201f", "#ffffff"),
            "unknown": ("#e8ecf0", "#a9b3bf", "#5b6775"),
        }
    ),
)

DARK = Palette(
    paper="#10161d",
    ink="#e9eef4",
    soft="#9aa7b5",
    ground="#19212a",
    traffic=MappingProxyType(
        {"l4s": "#3399ff", "classic": "#ffa264", "classic-ecn": "#f4db93", "udp": "#68788a"}
    ),
    aqm=MappingProxyType(
        {
            "pie": "#9f61e9",
            "fq_codel": "#82dcc1",
            "codel": "#f080c1",
            "pi2": "#bac95c",
            "red": "#c43e30",
            "cobalt": "#62cada",
            "fifo": "#68788a",
        }
    ),
    rest=("#c3ccd6", "#a87a3a", "#6f93c4", "#b9d19a"),
    lights=MappingProxyType(
        {
            "right": ("#22704f", "#22704f", "#b9ecd4"),
            "rest": ("#10161d", "#2f8f66", "#58b68c"),
            "amber": ("#f2b632", "#f2b632", "#3a2700"),
            "red": ("#f0524d", "#f0524d", "#1d0505"),
            "unknown": ("#222c37", "#4a5663", "#9aa7b5"),
        }
    ),
)

#: A marker for each track of a figure, in order: they replace colours on a bad printer.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
HATCHES = MappingProxyType({"l4s": "", "classic": "/////", "classic-ecn": ".....", "udp": "xxxxx"})
DASHES = MappingProxyType({"l4s": "-", "classic": "--", "classic-ecn": "--", "udp": ":"})


def luminance(colour: str) -> float:
    """Lightness L* of CIELAB, 0 to 100: the grey of ``#rrggbb`` on a printer without colours."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))

    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    y = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    return 116 * float(y ** (1 / 3)) - 16 if y > 0.008856 else 903.3 * y
