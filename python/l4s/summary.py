"""The summary of a run, as its types. docs/reference/results.md defines each quantity.

Missing values are absent, never zero.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Delay(TypedDict):
    """Queueing delay in milliseconds, over packets."""

    mean: float
    p1: float
    p25: float
    p50: float
    p75: float
    p99: float
    p999: float
    max: float


class Spread(TypedDict):
    """A quantity over several flows or packets."""

    p1: float
    mean: float
    p99: float


class Link(TypedDict):
    """The bottleneck."""

    rate_bps: float
    utilization: float


class Marks(TypedDict):
    """Packets marked, by cause."""

    step: int
    coupled: int
    classic: int


class _Drops(TypedDict):
    overload: int
    aqm: int
    limit: int
    memory: int


class Drops(_Drops, total=False):
    """Packets dropped, by cause."""

    radio: int
    ack_filter: int


class _Queue(TypedDict):
    name: str
    packets: int
    marks: Marks
    drops: Drops


class Queue(_Queue, total=False):
    """A queue: ``L``, ``C``, or ``Q`` where there is one. Marks and drops are fractions."""

    delay_ms: Delay
    mark: float
    drop: float


class _Hop(TypedDict):
    name: str
    links: int
    queues: list[Queue]


class Hop(_Hop, total=False):
    """Another link on the way, or the uplink."""

    direction: str
    utilization: float


class Score(TypedDict):
    """The score of the detector of Classic ECN."""

    final: float
    max: float


class Verdicts(TypedDict):
    """Flows by the verdict of their detector."""

    classic: int
    transition: int
    l4s: int
    at_rest: int


class _Prague(TypedDict):
    flows: Verdicts


class Prague(_Prague, total=False):
    """The verdicts of the detectors of a group."""

    classic_ecn: Score
    verdict: str
    downloads: Verdicts


class _App(TypedDict):
    flows: int
    rate_bps: float
    written: int
    delivered: int
    skipped: int


class App(_App, total=False):
    """The frames of an application."""

    delay_ms: Spread


class _Group(TypedDict):
    name: str
    cc: str
    flows: int
    rate_bps: float
    packets: int
    retransmits: int


class Group(_Group, total=False):
    """Flows that behave alike, or a UDP source."""

    direction: str
    downloads: int
    goodput_bps: float
    rate_per_flow_bps: float
    normalized_rate: float
    window_pkts: float
    cwnd_pkts: float
    rtt_ms: float
    delay_ms: Delay
    small_packets: int
    small_delay_ms: Spread
    mark: float
    drop: float
    app: App
    rate_over_time_bps: Spread
    flow_rates_bps: Spread
    prague: Prague


class Completion(TypedDict):
    """Downloads of a group whose size is in a bin."""

    group: str
    bin_bytes: tuple[int, int]
    flows: int
    time_ms: Spread
    efficiency: Spread


class _Engine(TypedDict):
    virtual_s: float
    packets: int


class Engine(_Engine, total=False):
    """The cost of the run."""

    wall_s: float
    events: int


class _Summary(TypedDict):
    scenario: str
    on: str
    seed: int
    version: str
    code: str
    set: dict[str, Any]
    link: Link
    queues: list[Queue]
    groups: list[Group]
    engine: Engine


class Summary(_Summary, total=False):
    """A run in numbers."""

    hops: list[Hop]
    completion: list[Completion]
    ratios: dict[str, float]
