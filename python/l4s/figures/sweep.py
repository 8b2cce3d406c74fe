"""The runs of a sweep in order: conditions make places on the x axis, traffic makes lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import names
from .colours import MARKERS, Palette
from .tables import Floats, Table

#: Keys that say who meets, not under which condition.
_WHO = re.compile(r"case|strategy|aqm(\..+)?|group\.[^.]+\.(cc|ecn)(\..+)?")
#: Congestion controls that answer to how many packets are marked.
_SCALABLE = ("dctcp", "prague")
#: Free places between two spans.
_GAP = 0.7


@dataclass
class Line:
    """Runs that differ in nothing but their conditions."""

    name: str
    #: The kind of the discipline, where the sweep says it.
    aqm: str
    #: Its place among all lines.
    number: int
    #: Rows of the table at each place; several where seeds were repeated.
    rows: dict[int, list[int]] = field(default_factory=dict)

    def all_rows(self) -> list[int]:
        """Every row."""
        return [row for rows in self.rows.values() for row in rows]


@dataclass(frozen=True)
class Sweep:
    """All runs in order of condition."""

    table: Table
    lines: list[Line]
    #: The keys that make places.
    conditions: list[str]
    #: Where the conditions are, and their labels.
    x: list[float]
    labels: list[str]
    #: The common part of neighbours: from, to and its name.
    spans: list[tuple[float, float, str]]
    #: The quantity of the x axis.
    title: str

    def column(self, column: str, line: Line) -> Floats:
        """A column of a line at each place: means over seeds, NaN where nothing is."""
        return self.average(self.table.floats(column), line)

    def average(self, values: Floats, line: Line) -> Floats:
        """Means of the rows of a line at each place, of values for every row of the table."""
        out = np.full(len(self.x), np.nan)
        for place, rows in line.rows.items():
            there = values[rows][~np.isnan(values[rows])]
            if there.size:
                out[place] = there.mean()
        return out

    def queues(self, line: Line) -> list[str]:
        """The queues of a line: ``L`` and ``C``, or ``Q``."""
        found = self.table.matching(r"queue_([^_]+)_delay_mean_ms")
        if not found:
            self.table.needs("queue_Q_delay_mean_ms")
        return [queue for queue, name in found.items() if self._has(name, line)]

    def groups(self, line: Line) -> list[str]:
        """The groups and UDP sources of a line, in the order of the table."""
        found = self.table.matching(r"group_([^_]+)_cc")
        if not found:
            self.table.needs("group_A_cc")
        return [
            group
            for group, name in found.items()
            if any(self.table.texts(name)[row] for row in line.all_rows())
        ]

    def queue_colour(self, palette: Palette, line: Line, queue: str) -> str:
        """L and C as L4S and Classic senders; a single queue by its discipline.

        A second line with the same discipline has a colour of its own.
        """
        single = {"L": palette.traffic["l4s"], "C": palette.traffic["classic"]}
        colour = single.get(queue) or palette.aqm.get(line.aqm)
        rivals = [
            other.number
            for other in self.lines
            if colour is None or (other.aqm == line.aqm and queue in self.queues(other))
        ]
        nth = rivals.index(line.number)
        if colour is not None and nth == 0:
            return colour
        # Two queues of one line have two colours, which no other line has.
        spare = nth if colour is None else 2 * (nth - 1) + (queue == "C")
        return palette.rest[spare % len(palette.rest)]

    def marker(self, line: Line, queue: str) -> str:
        """The same for a queue of a line in every panel."""
        all_queues = [(own.number, name) for own in self.lines for name in self.queues(own)]
        return MARKERS[all_queues.index((line.number, queue)) % len(MARKERS)]

    def kind(self, line: Line, group: str) -> str:
        """How a group answers congestion: ``l4s``, ``classic``, ``classic-ecn`` or ``udp``."""
        return kind_of(self.table, group, line.all_rows())

    def sender(self, line: Line, group: str) -> str:
        """The congestion control of a group, by its name."""
        return sender_of(self.table, group, line.all_rows())

    def _has(self, column: str, line: Line) -> bool:
        return bool(np.any(~np.isnan(self.table.floats(column)[line.all_rows()])))


def kind_of(table: Table, group: str, rows: Iterable[int]) -> str:
    """How a group answers congestion.

    The table has no codepoints: a Classic sender any of whose packets was marked uses ECN, and a
    control of somebody's own is taken for an L4S one if it is marked.
    """
    rows = list(rows)
    texts = table.texts(f"group_{group}_cc")
    cc = next((texts[row] for row in rows if texts[row]), "")
    if cc == "udp":
        return "udp"
    if cc in _SCALABLE:
        return "l4s"
    if not np.any(table.maybe(f"group_{group}_mark")[rows] > 0):
        return "classic"
    return "classic-ecn" if cc in names.CCS else "l4s"


def sender_of(table: Table, group: str, rows: Iterable[int]) -> str:
    """``ECN-Cubic``; for a UDP source ``UDP``."""
    rows = list(rows)
    texts = table.texts(f"group_{group}_cc")
    cc = next((texts[row] for row in rows if texts[row]), group)
    ecn = "ECN-" if kind_of(table, group, rows) == "classic-ecn" else ""
    return ecn + names.CCS.get(cc, cc)


def chosen(table: Table, where: Mapping[str, str] | None) -> Table:
    """The runs for which the sweep set these keys to these values."""
    keep = np.ones(len(table), dtype=np.bool_)
    for key, value in (where or {}).items():
        texts = table.texts(f"set_{key}")
        if value not in texts:
            raise ValueError(
                f'no run has {key} = "{value}"; there is {", ".join(dict.fromkeys(texts))}'
            )
        keep &= np.array([text == value for text in texts])
    return table.where(keep)


def varied(table: Table) -> dict[str, list[str]]:
    """The keys that the runs differ in, with the value of each run; nothing else."""
    keys = {name[4:]: table.texts(name) for name in table.names if name.startswith("set_")}
    return {key: texts for key, texts in keys.items() if len(set(texts)) > 1}


def lay_out(table: Table, outer: str | None = None) -> Sweep:
    """Puts the runs in order: the values of ``outer`` first, then of the other keys.

    Without ``outer`` that is the link rate where it varies with something else, as in the papers,
    or the first of several keys.
    """
    keys = varied(table)
    who = [key for key in keys if _WHO.fullmatch(key)]
    conditions = [key for key in keys if key not in who]
    if outer is None and len(conditions) > 1:
        outer = "link.rate" if "link.rate" in conditions else conditions[0]
    if outer is not None and outer not in conditions:
        raise ValueError(
            f'the runs do not differ in "{outer}" but in {", ".join(keys) or "nothing"}'
        )
    inner = [key for key in conditions if key != outer]
    if not inner:
        inner, outer = conditions, None
    orders = {key: names.ordered(keys[key]) for key in conditions}

    def place(row: int, of: list[str]) -> tuple[int, ...]:
        return tuple(orders[key].index(keys[key][row]) for key in of)

    rows = range(len(table))
    order = ([outer] if outer else []) + inner
    places = sorted({place(row, order) for row in rows})
    x, labels, spans = _places(places, orders, inner, outer)
    lines = _lines(table, keys, who)
    for line, own in lines:
        for row in own:
            line.rows.setdefault(places.index(place(row, order)), []).append(row)
    title = " : ".join(names.key_name(key) + _unit(orders[key]) for key in inner)
    title += f", by {names.key_name(outer)}" if outer else ""
    return Sweep(table, [line for line, _ in lines], conditions, x, labels, spans, title)


def _places(
    places: list[tuple[int, ...]], orders: dict[str, list[str]], inner: list[str], outer: str | None
) -> tuple[list[float], list[str], list[tuple[float, float, str]]]:
    x: list[float] = []
    labels: list[str] = []
    spans: list[tuple[float, float, str]] = []
    at = -1.0
    for place in places:
        span = names.said(orders[outer][place[0]]) if outer else ""
        at += 1 + (_GAP if spans and spans[-1][2] != span else 0)
        if spans and spans[-1][2] == span:
            spans[-1] = (spans[-1][0], at, span)
        else:
            spans.append((at, at, span))
        x.append(at)
        values = [orders[key][i] for key, i in zip(inner, place[bool(outer) :], strict=True)]
        units = [_unit(orders[key]) for key in inner]
        short = [
            names.split(v)[0] if u else names.said(v) for v, u in zip(values, units, strict=True)
        ]
        labels.append(":".join(short))
    return x, labels, spans if outer else []


def _unit(values: list[str]) -> str:
    units = {names.split(value)[1] for value in values}
    unit = units.pop() if len(units) == 1 else ""
    return f" ({unit})" if unit else ""


def _lines(
    table: Table, keys: dict[str, list[str]], who: list[str]
) -> list[tuple[Line, NDArray[np.int64]]]:
    texts = [tuple(keys[key][row] for key in who) for row in range(len(table))]
    distinct = list(dict.fromkeys(texts))
    own = [np.flatnonzero([text == other for other in texts]) for text in distinct]
    aqms = [_aqm(table, text, int(rows[0])) for text, rows in zip(distinct, own, strict=True)]
    lines = []
    for number, (text, aqm, rows) in enumerate(zip(distinct, aqms, own, strict=True)):
        alone = aqm != "" and aqms.count(aqm) == 1
        name = names.AQMS[aqm] if alone else ", ".join(map(_who, who, text))
        lines.append((Line(name, aqm, number), rows))
    return lines


def _who(key: str, value: str) -> str:
    plain = key in ("case", "strategy") or key.startswith("aqm")
    words = re.sub(r" of \w+$", "", names.key_name(key))
    return names.label(value) if plain else f"{words} {value}"


def _aqm(table: Table, text: tuple[str, ...], row: int) -> str:
    """The discipline of a line; where nothing that varies names it, a key that does not."""
    fixed = [name for name in ("set_case", "set_aqm", "set_aqm.kind") if name in table.names]
    return names.aqm_in(" ".join((*text, *(table.texts(name)[row] for name in fixed))))
