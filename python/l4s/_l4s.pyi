"""The engine, in Rust."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, final

VERSION: str
"""The version of l4s."""
CODE: str
"""The fingerprint of its code: results of two codes do not mix."""

@final
class Plan:
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def question(self) -> str | None: ...
    @property
    def text(self) -> str: ...
    @property
    def sweep(self) -> list[tuple[str, list[str]]]: ...
    def __len__(self) -> int: ...
    def run(self, number: int) -> Run: ...

@final
class Template:
    def __init__(self, name: str, text: str, folder: str) -> None: ...
    def run(self, settings: Sequence[str]) -> Run: ...
    def keys(self, settings: Sequence[Sequence[str]]) -> list[str]: ...

@final
class Run:
    @property
    def pins(self) -> list[str]: ...
    @property
    def set(self) -> list[tuple[str, str]]: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_ns(self) -> int: ...
    @property
    def groups(self) -> list[str]: ...
    def show(self) -> str: ...
    def show_with_copy(self) -> str: ...
    def copies(self) -> dict[str, bytes]: ...
    def model(self) -> str: ...
    def key(self) -> str: ...
    def check_sampling(self, interval: int) -> None: ...
    def advice(self) -> str | None: ...
    def unmet(self, summary: str) -> list[str]: ...

@final
class Record:
    @property
    def summary(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def series(self) -> Table: ...
    @property
    def delays(self) -> Table: ...
    @property
    def flows(self) -> Table: ...

@final
class Chapter:
    @property
    def entrant(self) -> str: ...
    @property
    def name(self) -> str: ...
    def __len__(self) -> int: ...
    def run(self, number: int, progress: Callable[[int], None] | None = None) -> Judged: ...
    def judge(self, runs: Sequence[Judged]) -> Verdicts: ...

@final
class Judged: ...

@final
class Verdicts: ...

@final
class Table:
    """A table in memory that Arrow's consumers read in place (the PyCapsule interface).

    It has what a ``pyarrow.Table`` has besides: columns by name, ``to_pandas``, ``filter`` and so
    on.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]:
        """The names of its columns, in order."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, key: int | str | slice) -> Any: ...

@final
class Ack:
    """What one acknowledgement told the sender.

    Times are in nanoseconds, data in whole segments.
    """

    @property
    def now_ns(self) -> int:
        """When it arrived: nanoseconds since the start of the run, from 0."""
    @property
    def delivered(self) -> int:
        """Segments newly delivered, cumulatively or selectively: from 0."""
    @property
    def delivered_ce(self) -> int:
        """How many of those segments met congestion: from 0 to `delivered`; all of them where the
        echo does not count.
        """
    @property
    def ece(self) -> bool:
        """Whether it echoed congestion: True or False."""
    @property
    def rtt_ns(self) -> int | None:
        """The round trip of the newest segment it acknowledged: nanoseconds, at least 1; None where
        none could be measured.
        """
    @property
    def min_rtt_ns(self) -> int:
        """The lowest round trip of the connection so far: nanoseconds, at least 1."""
    @property
    def srtt_ns(self) -> int:
        """The smoothed round trip (RFC 6298): nanoseconds, at least 1."""
    @property
    def una(self) -> int:
        """The first segment not yet acknowledged: a count of segments from 0."""
    @property
    def nxt(self) -> int:
        """The next segment that will be sent for the first time: a count of segments, at least
        `una`.
        """
    @property
    def app_limited(self) -> bool:
        """Whether all that the application wrote had been sent: True or False."""

@final
class Window:
    """The congestion window and the slow-start threshold of a connection, in whole segments.

    Assignments of `on_ack`, `grow` and `on_restart` take effect when these return; `ssthresh` only
    reads it.
    """

    @property
    def cwnd(self) -> int:
        """How many segments may be in flight: whole segments, from 1 to 2,147,483,646. Can be
        set.
        """
    @cwnd.setter
    def cwnd(self, segments: int) -> None: ...
    @property
    def ssthresh(self) -> int | None:
        """Below this the window grows by slow start: whole segments, from 1 to 2,147,483,646; None
        before the first reduction. Can be set.
        """
    @ssthresh.setter
    def ssthresh(self, segments: int | None) -> None: ...
    @property
    def limited(self) -> bool:
        """Whether the last flight was as large as the window allowed (RFC 7661): True or False."""
    @property
    def in_slow_start(self) -> bool:
        """Whether the window is below the threshold: True or False."""
    def slow_start(self, acked: int) -> int:
        """Grows by one segment per segment acknowledged, up to the threshold (RFC 5681); outside of
        slow start it does nothing.

        Returns how many of `acked` are left: from 0 to `acked`.
        """
    def additive_increase(self, per: int, acked: int) -> None:
        """Grows by one segment for every `per` segments acknowledged; `acked` further ones are
        acknowledged.
        """

@final
class Packet:
    """A packet at a queue, and what the queue is like. Times are in nanoseconds."""

    @property
    def now_ns(self) -> int:
        """When the question is asked: nanoseconds since the start of the run, from 0."""
    @property
    def size(self) -> int:
        """Its size on the link: bytes, at least 1."""
    @property
    def ecn(self) -> int:
        """Its ECN field as the header has it: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def flow(self) -> int:
        """A hash of its 5-tuple: from 0 to 2³² - 1."""
    @property
    def queue(self) -> Literal["L", "C", "Q"]:
        """Its queue: L or C, or Q where there is one; where that is the question, the one that it
        would go to by RFC 9332.
        """
    @property
    def sojourn_ns(self) -> int:
        """How long it has waited: nanoseconds; 0 at its arrival."""
    @property
    def waiting_packets(self) -> int:
        """The backlog of its queue, or of both before it is in one: packets, from 0."""
    @property
    def waiting_bytes(self) -> int:
        """The size of the backlog: bytes, from 0."""
    @property
    def is_capable(self) -> bool:
        """Whether it can be marked instead of dropped: True or False."""
    @property
    def is_l4s(self) -> bool:
        """Whether it says that its sender is an L4S one, by ECT(1) or CE (RFC 9331): True or
        False.
        """

def plan(name: str, text: str | None, settings: Sequence[str], folder: str) -> Plan: ...
def bundled() -> list[tuple[str, str, str | None]]: ...
def run(
    run: Run,
    scenario: str,
    tables: bool,
    sampling_ns: int | None = None,
    aqm: Callable[[], Any] | None = None,
    cc: Sequence[tuple[str, Callable[[], Any]]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Record: ...
def chapters(entrant: str | Callable[[], Any], quick: bool, of_aqms: bool) -> list[Chapter]: ...
def written(
    name: str, chapters: Sequence[Verdicts], quick: bool, of_aqms: bool, how: str
) -> tuple[str, str, str]: ...
def check(make: Callable[[], Any], of_aqms: bool) -> None: ...
def table_of_runs(runs: Sequence[tuple[str, str]]) -> Table: ...
def dictionary() -> list[tuple[str, str, str, str, str, str]]: ...
def golden(records: Sequence[Record]) -> str: ...
def write(folder: str, records: Sequence[Record]) -> None: ...
