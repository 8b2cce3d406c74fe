"""Algorithms that the tests run; docs/guides/python-algorithms.md shows the first."""

from __future__ import annotations

import l4s


class Scalable(l4s.CongestionControl):
    """For each mark of the last round trip half a segment less.

    In equilibrium a window of two over the probability of marks, whatever the rate (DCttH §2.1).
    """

    name = "scalable"
    ecn = "l4s"
    pacing = True

    def __init__(self) -> None:
        self.round_end = 0  # the round trip is over when this segment is acknowledged
        self.marks = 0  # in this round trip
        self.last = 0  # in the one before

    def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
        if ack.una >= self.round_end:
            self.round_end, self.last, self.marks = ack.nxt, self.marks, 0
        self.marks += ack.delivered_ce

    def ssthresh(self, window: l4s.Window, why: str) -> int:
        if why == "ecn":
            return max(window.cwnd - max(self.last, self.marks) // 2, 2)
        return super().ssthresh(window, why)


class Spelled(l4s.CongestionControl):
    """Reno's growth, in Python."""

    name = "reno"

    def grow(self, window: l4s.Window, ack: l4s.Ack) -> None:
        if window.limited:
            left = window.slow_start(ack.delivered) if window.in_slow_start else ack.delivered
            if left:
                window.additive_increase(window.cwnd, left)


class Pi2(l4s.Aqm):
    """The squared PI controller of a single queue, as PI2 has it."""

    name = "my-pi2"
    target_ns, alpha_hz, beta_hz = 15_000_000, 5 / 16, 50 / 16
    tick_ns = 16_000_000

    def __init__(self) -> None:
        self.p, self.before_ns = 0.0, 0

    def tick(self, now_ns: int, sojourn_ns: tuple[int, int], backlog: tuple[int, int]) -> None:
        delay_ns = sojourn_ns[0]
        self.p += self.alpha_hz * (delay_ns - self.target_ns) / 1e9
        self.p += self.beta_hz * (delay_ns - self.before_ns) / 1e9
        self.p = min(max(self.p, 0.0), 1.0)
        self.before_ns = delay_ns

    def dequeue(self, packet: l4s.Packet) -> l4s.Verdict:
        return "mark" if self.rng.random() < self.p**2 else None

    def probability(self) -> float:
        return self.p


class Dual(l4s.Aqm):
    """Two queues: a step in L, 50 packets in C, and L first unless C has waited 30 ms longer."""

    name = "my-dual"
    dual = True

    def enqueue(self, packet: l4s.Packet) -> l4s.Verdict:
        return "drop" if packet.queue == "C" and packet.waiting_packets >= 50 else None

    def dequeue(self, packet: l4s.Packet) -> l4s.Verdict:
        return "mark" if packet.queue == "L" and packet.sojourn_ns > 1_000_000 else None

    def l_goes_first(self, l_sojourn_ns: int, c_sojourn_ns: int, now_ns: int) -> bool:
        return l_sojourn_ns + 30_000_000 > c_sojourn_ns
