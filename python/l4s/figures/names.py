"""Names and quantities as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

AQMS = {
    "dualpi2": "DualPI2",
    "curvy-red": "Curvy RED",
    "dualq": "DualQ",
    "pi2": "PI2",
    "pie": "PIE",
    "codel": "CoDel",
    "fq_codel": "FQ-CoDel",
    "cobalt": "COBALT",
    "red": "RED",
    "fifo": "FIFO",
}
CCS = {
    "reno": "Reno",
    "cubic": "Cubic",
    "dctcp": "DCTCP",
    "prague": "Prague",
    "bbr": "BBR",
    "bbr3": "BBRv3",
    "udp": "UDP",
    "ecn-cubic": "ECN-Cubic",
}
QUEUES = {"L": "L4S", "C": "Classic", "Q": ""}
_CODEPOINTS = {"ect0": "ECT(0)", "ect1": "ECT(1)", "not-ect": "Not-ECT"}
#: Units of a scenario: their spelling, and their size.
_UNITS = {
    "bit": ("b/s", 1.0),
    "kbit": ("kb/s", 1e3),
    "mbit": ("Mb/s", 1e6),
    "gbit": ("Gb/s", 1e9),
    "ns": ("ns", 1e-9),
    "us": ("µs", 1e-6),
    "ms": ("ms", 1e-3),
    "s": ("s", 1.0),
    "p": ("packets", 1.0),
    "b": ("B", 1.0),
    "kb": ("kB", 1e3),
    "mb": ("MB", 1e6),
}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-z]*)")


def digits(value: float, significant: int = 3) -> str:
    """Three significant digits, without a tail of zeros: 0.574, 15.2, 148."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = significant - 1 - math.floor(math.log10(abs(value)))
    text = f"{value:.{min(max(decimals, 0), 9)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def split(value: str) -> tuple[str, str]:
    """``40mbit`` as number and unit; text that is no quantity stays whole."""
    found = _QUANTITY.fullmatch(value)
    if found and found[2] in _UNITS:
        return found[1], _UNITS[found[2]][0]
    return value, ""


def size(value: str) -> float | None:
    """The value of a quantity, in s, b/s, B or packets; ``None`` for other text."""
    found = _QUANTITY.fullmatch(value)
    if not found or found[2] not in ("", *_UNITS):
        return None
    return float(found[1]) * (_UNITS[found[2]][1] if found[2] else 1.0)


def said(value: str) -> str:
    """``40mbit`` as ``40 Mb/s``; codepoints and disciplines by their proper names."""
    number, unit = split(value)
    return f"{number} {unit}" if unit else _CODEPOINTS.get(value, label(value))


def key_name(key: str) -> str:
    """A key of a sweep: ``link.rate`` is the link rate, ``group.*.rtt`` the RTT."""
    found = re.fullmatch(r"(?:group|udp|web)\.([^.]+)\.(.+)", key)
    words = (found[2] if found else key).replace(".", " ").replace("_", " ")
    words = re.sub(r"^cc ", "", words)
    words = re.sub(r"\b(rtt|ecn)\b", lambda word: word[0].upper(), words)
    return f"{words} of {found[1]}" if found and found[1] != "*" else words


def label(text: str) -> str:
    """``dualpi2 dctcp:cubic`` as ``DualPI2 DCTCP:Cubic``."""
    known = {**AQMS, **CCS}
    return re.sub(r"[\w-]+", lambda word: known.get(word[0], word[0]), text)


def aqm_in(text: str) -> str:
    """The first discipline that is named in a text; empty without one."""
    return next((word for word in re.findall(r"[\w-]+", text) if word in AQMS), "")


def ordered(values: Iterable[str]) -> list[str]:
    """Distinct values: by size where all are quantities, else as they came."""
    distinct = list(dict.fromkeys(values))
    sizes = {value: size(value) for value in distinct}
    if any(known is None for known in sizes.values()):
        return distinct
    return sorted(distinct, key=lambda value: sizes[value] or 0.0)
