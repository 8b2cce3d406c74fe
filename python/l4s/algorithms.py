"""Congestion controls and queue disciplines in Python, for ideas.

The simulator calls them packet by packet; docs/guides/python-algorithms.md has the cost of that,
and the way to port them to Rust. Methods that a class does not define are run in Rust.

They are looked up in the class, once, before the run. :class:`AlgorithmError` refuses methods that
would never run: those that need an attribute that is not set, those that are set on an instance,
generators and coroutines.
"""

from __future__ import annotations

import random
import warnings
from difflib import get_close_matches
from typing import Literal, TypeAlias

from l4s._l4s import Ack, Packet, Window

#: The decision about a packet. None forwards it. A packet that cannot be marked is dropped instead.
Verdict: TypeAlias = 'Literal["forward", "mark", "drop"] | None'


class _Algorithm:
    """A class whose names have a meaning: those of a subclass may be misspelt ones."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        ours = (base for base in cls.__mro__ if base.__module__ == __name__)
        known = {"rng"}.union(*map(vars, ours))
        for name in sorted(vars(cls).keys() - known):
            near = [] if name.startswith("_") else get_close_matches(name, known, n=1, cutoff=0.8)
            if near:
                words = f"{cls.__name__}.{name} has no meaning to l4s; did you mean {near[0]}?"
                warnings.warn(words, stacklevel=2)


class CongestionControl(_Algorithm):
    """One connection's congestion control; a new instance for each.

    As it stands it is Reno. The transport below is Linux' TCP: it finds losses, repairs them, and
    asks for a threshold where the window must be reduced.
    """

    name: str = "python"
    """What results call it."""
    ecn: Literal["off", "dctcp", "l4s"] = "off"
    """What it negotiates unless the scenario says otherwise: nothing; ECT(0) with exact echoes; or
    ECT(1) with AccECN."""
    pacing: bool = False
    """Whether the transport spreads the window over the round trip."""

    steers_alone: bool = False
    """Whether :meth:`on_ack` alone sets the window, in every state, as ``cong_control`` of Linux
    does: the transport then neither grows nor reduces it, and asks for :meth:`pacing_rate`."""
    rng: random.Random
    """Chance, from the scenario's seed, another for each connection; there once the instance is
    made."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Sees every acknowledgement, in every state of the transport, before all else."""

    def grow(self, window: Window, ack: Ack) -> None:
        """Grows the window. Asked for acknowledgements outside of reductions, and not of one that
        steers alone.

        Not defined, or as ``super().grow(window, ack)``: as Reno does (RFC 5681), by slow start
        and then by a segment for each window, where the last flight was limited by the window.
        """
        if not window.limited:
            return
        acked = ack.delivered
        if window.in_slow_start:
            acked = window.slow_start(acked)
            if not acked:
                return
        window.additive_increase(window.cwnd, acked)

    def ssthresh(self, window: Window, why: Literal["loss", "timeout", "ecn"]) -> int:
        """The threshold in segments, at least 2, to which the window is reduced.

        It returns the threshold, and changes nothing of ``window``.
        Asked once for each window in which there is a loss, a timeout, or a mark. Not defined, or
        as ``super().ssthresh(window, why)``: half the window.
        """
        return max(window.cwnd // 2, 2)

    def alpha(self) -> float | None:
        """Its estimate of marking, for the time series."""
        return None

    def pacing_rate(self, in_flight: int, mss: int, srtt_ns: int) -> int | None:
        """Bytes per second at which to send, of one that steers alone; None for the usual.

        Only with :attr:`steers_alone`.
        """
        return None

    def on_restart(self, window: Window, now_ns: int, pause_ns: int, rto_ns: int) -> None:
        """Sending starts again after a pause.

        Not defined: as Linux does, half the window for each timeout that the pause lasted
        (RFC 2861). That is done in Rust: ``super().on_restart(...)`` leaves the window alone.
        """


class Aqm(_Algorithm):
    """A queue discipline, of one queue or of two; a new instance for each run.

    As it stands it is a FIFO, or with ``dual`` two with strict priority. The queues themselves and
    their limit are not its business.
    """

    name: str = "python"
    """What results call it."""
    dual: bool = False
    """Whether there are two queues, L and C."""
    limit: int = 40_000
    """Packets that may wait, in all queues together."""
    tick_ns: int | None = None
    """Nanoseconds between calls of :meth:`tick`; None for none."""
    rng: random.Random
    """Chance, from the scenario's seed; there once the instance is made."""

    def classify(self, packet: Packet) -> Literal["L", "C"]:
        """The queue of an arriving packet, of two; not defined, by ECT(1) and CE (RFC 9332).

        Only with :attr:`dual`.
        """
        return "L" if packet.is_l4s else "C"

    def enqueue(self, packet: Packet) -> Verdict:
        """The decision about an arriving packet."""
        return None

    def dequeue(self, packet: Packet) -> Verdict:
        """The decision about the packet that is served next."""
        return None

    def l_goes_first(self, l_sojourn_ns: int, c_sojourn_ns: int, now_ns: int) -> bool:
        """Both queues wait, their heads for so long: whose turn is it? Only with :attr:`dual`."""
        return True

    def tick(self, now_ns: int, sojourn_ns: tuple[int, int], backlog: tuple[int, int]) -> None:
        """Its timer is due. Only with :attr:`tick_ns`.

        The sojourn of the heads and the bytes that wait are of L and C, or of the only queue and 0.
        """

    def probability(self) -> float | None:
        """The probability that it applies, for the time series (``p_base``)."""
        return None
