"""One run, and its measurements."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from l4s import _l4s, _progress
from l4s.algorithms import Aqm, CongestionControl
from l4s.scenario import Scenario

if TYPE_CHECKING:
    from l4s._l4s import Table
    from l4s.summary import Group, Summary

#: A class, or a function that makes an instance of it.
MakeAqm: TypeAlias = "Callable[[], Aqm]"
MakeCc: TypeAlias = "Callable[[], CongestionControl]"


class Result:
    """The measurements of one run.

    ``runs``, ``series``, ``delays`` and ``flows`` are Arrow tables with the columns of
    docs/reference/results.md. Readers of Arrow take them without a copy:
    ``pyarrow.table(r.series)``, ``polars.DataFrame(r.series)``,
    ``pandas.DataFrame.from_arrow(r.series)``; DuckDB takes the table of pyarrow by its name.
    """

    def __init__(
        self,
        record: _l4s.Record,
        scenario: Scenario,
        own: Mapping[str, str] | None = None,
        code: Callable[[], str] = str,
    ) -> None:
        self._record = record
        # Its origin; of algorithms of the user's own their names, by place.
        self._scenario, self._own = scenario, dict(own or {})
        self._find_code = code

    @cached_property
    def _code(self) -> str:
        """The code of algorithms of the user's own."""
        return self._find_code()

    @cached_property
    def summary(self) -> Summary:
        """The run in numbers, as ``l4s run --json`` prints it except for the time that it took.

        Rates are in bits per second, delays in milliseconds, windows in packets, marks and drops
        fractions; docs/reference/results.md defines each.
        """
        return cast("Summary", json.loads(self._record.summary))

    @property
    def summary_json(self) -> str:
        """The summary as the command line writes it, byte by byte."""
        return self._record.summary

    @property
    def failed_assertions(self) -> list[str]:
        """The assertions of the scenario that do not hold.

        Each is its text with the expected and the measured value, as ``l4s run`` prints it.
        """
        return self._scenario._only().unmet(self.summary_json)

    @cached_property
    def runs(self) -> Table:
        """The summary as the only row of a table: ``queue_L_delay_mean_ms`` and so on."""
        return _l4s.table_of_runs([(self._record.summary, self._record.command)])

    @cached_property
    def series(self) -> Table:
        """Time series: a row per interval for the link, each queue, group and long flow."""
        return self._record.series

    @cached_property
    def delays(self) -> Table:
        """Histograms of queueing delay: a row per queue or group and bucket."""
        return self._record.delays

    @cached_property
    def flows(self) -> Table:
        """A row per flow or download."""
        return self._record.flows

    @property
    def command(self) -> str:
        """The command that does the same, except for algorithms of your own.

        It contains a scenario that was written in Python, and of one in a file the path that you
        gave.
        """
        return self._record.command

    @property
    def wall_s(self) -> float:
        """Seconds that the simulator took."""
        return self._record.wall_s

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes its four tables, and the scenario as it ran, into ``folder``.

        ``l4s report`` and ``l4s.read`` read it, and ``l4s run FOLDER/scenario.toml`` does the run
        again, except for algorithms of your own.

        Raises:
            SweepError: the folder holds something else, such as another result.
        """
        from l4s.sweeps import folder as folders

        one = self._scenario._only()
        told = "\n".join([one.key(), self.summary_json, *self._own.values()])
        folders.save(
            Path(folder),
            {
                "version": _l4s.VERSION,
                "code": _l4s.CODE,
                "on": "sim",
                "scenario": self._scenario.name,
                "runs": 1,
                "trace": False,
                "plan": hashlib.sha256(told.encode()).hexdigest()[:16],
                "own": self._own,
            },
            one.show_with_copy(),
            one.model(),
            one.copies(),
            self._code,
            lambda: _l4s.write(os.fspath(folder), [self._record]),
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _again, (self._record, self._scenario, self._own, self._code)

    def __repr__(self) -> str:
        summary: Any = self.summary
        queues = ", ".join(
            f"{queue['name']} {queue['delay_ms']['mean']:.2f} ms"
            for queue in summary["queues"]
            if "delay_ms" in queue
        )
        rates = ", ".join(map(_rate, summary["groups"]))
        used = summary["link"]["utilization"]
        return f"<Result of {summary['scenario']}: {queues}; {rates}; link {used:.1%} used>"


def _rate(group: Group) -> str:
    """Its rate, and its goodput where that is below 0.85 of it."""
    text = f"{group['name']} {group['rate_bps'] / 1e6:.1f} Mb/s"
    goodput = group.get("goodput_bps")
    if goodput is None or goodput >= 0.85 * group["rate_bps"]:
        return text
    return f"{text} (goodput {goodput / 1e6:.1f})"


def run(
    scenario: Scenario | str | os.PathLike[str],
    *,
    tables: bool = True,
    sampling_s: float | None = None,
    aqm: MakeAqm | None = None,
    cc: MakeCc | Mapping[str, MakeCc] | None = None,
    progress: bool | None = None,
) -> Result:
    """Runs a scenario of one run in the simulator, to its end.

    The same scenario and seed give the same result, to the last bit, as ``l4s run`` gives, on any
    machine. Other threads go on meanwhile. Ctrl-C stops it.

    Args:
        scenario: a scenario, or an argument of :class:`Scenario`.
        tables: whether time series are kept; histograms and flows always are.
        sampling_s: seconds between their samples; chosen by the length of the run unless set. There
            may be 50 million rows.
        aqm: a discipline of your own in the place of the scenario's: a subclass of :class:`Aqm`, or
            a function that makes one.
        cc: a congestion control of your own for all groups, or several by group, likewise.
        progress: a bar; by default where a terminal or notebook shows it, for runs that take over a
            second.

    Raises:
        ScenarioError: the scenario is refused.
        ValueError: it has several runs, or no group of that name; or ``sampling_s`` is zero, less,
            or so small that memory has no room for the samples.
        AlgorithmError: a class of yours has an invalid attribute or a method that is never called,
            or returned something invalid.
        Exception: an exception of a class of yours, with its own traceback.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario(scenario)
    one = scenario._only()
    own = algorithms(aqm, cc)
    check_groups(scenario, own)
    sampling_ns = nanoseconds(sampling_s)
    seconds = one.duration_ns / 1e9
    form = "{l_bar}{bar}| {n:.1f}/{total:.1f} virtual s [{elapsed}<{remaining}]"
    delay = 0 if progress else 1
    with _progress.tqdm(
        total=seconds, disable=_progress.off(progress), delay=delay, leave=False, bar_format=form
    ) as bar:

        def tell(now_ns: int) -> None:
            bar.update(now_ns / 1e9 - bar.n)

        told = None if bar.disable else tell
        ccs = controls(own, one.groups)
        record = _l4s.run(one, scenario._called, tables, sampling_ns, aqm, ccs, told)

    def code() -> str:
        from l4s.sweeps.depends import source

        return source(own)

    names = {place: _called(make) for place, make in own.items()}
    return Result(record, scenario, names, code if own else str)


def _again(record: _l4s.Record, scenario: Scenario, own: Mapping[str, str], code: str) -> Result:
    """A result from its pickle."""
    return Result(record, scenario, own, lambda: code)


def _called(make: Callable[[], Any]) -> str:
    """The function or class of an algorithm, for people."""
    name = getattr(make, "__qualname__", None)
    return f"{make.__module__}.{name}" if name else repr(make)


def algorithms(
    aqm: MakeAqm | None, cc: MakeCc | Mapping[str, MakeCc] | None
) -> dict[str, Callable[[], Any]]:
    """Algorithms of the user's own by the place that they take: ``aqm``, ``cc``, ``cc.A``."""
    own: dict[str, Callable[[], Any]] = {} if aqm is None else {"aqm": aqm}
    if isinstance(cc, Mapping):
        own |= {f"cc.{group}": make for group, make in cc.items()}
    elif cc is not None:
        own["cc"] = cc
    for place, make in own.items():
        base = "Aqm" if place == "aqm" else "CongestionControl"
        if not callable(make):
            what = f"expected a subclass of l4s.{base}, or what makes one"
            raise TypeError(f"{place} = {make!r}: {what}")
    return own


def controls(
    own: Mapping[str, Callable[[], Any]], groups: Iterable[str]
) -> list[tuple[str, Callable[[], Any]]]:
    """The congestion control of the user's own of each of these groups that has one."""
    cc = {group: own["cc"] for group in groups} if "cc" in own else {}
    cc |= {place[3:]: make for place, make in own.items() if place.startswith("cc.")}
    return list(cc.items())


def check_groups(scenario: Scenario, own: Iterable[str]) -> None:
    """Refuses a congestion control for a group that a scenario of one run does not have."""
    known = scenario._only().groups
    for place in own:
        group = place.partition(".")[2]
        if group and group not in known:
            raise ValueError(f"cc[{group!r}]: {scenario.name} has the groups {', '.join(known)}")


def nanoseconds(sampling_s: float | None) -> int | None:
    """Time between samples as the engine has it."""
    if sampling_s is None:
        return None
    # Longer than any run, and yet as the engine counts.
    if not 0.5e-9 < sampling_s < 1e9:
        raise ValueError(
            f"sampling_s = {sampling_s}: expected more than zero seconds, fewer than 1e9"
        )
    return round(float(sampling_s) * 1e9)
