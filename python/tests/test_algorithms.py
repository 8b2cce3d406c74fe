"""Congestion controls and disciplines of one's own."""

from __future__ import annotations

import re
import threading
import traceback
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import ROOT
from own import Dual, Pi2, Scalable, Spelled

import l4s
from l4s import _l4s

BASE = l4s.Scenario(
    duration="10s",
    link={"rate": "40mbit"},
    aqm={"kind": "dualpi2", "profile": "dctth"},
    group=[
        {"name": "A", "cc": "reno", "rtt": "10ms"},
        {"name": "B", "cc": "cubic", "rtt": "10ms"},
    ],
)


def test_python_and_rust_do_the_same_to_the_last_packet() -> None:
    scenario = l4s.Scenario(ROOT / "crates/sim/examples/own_control.toml")
    result = l4s.run(scenario, cc={"A": Scalable})
    golden = (ROOT / "crates/sim/tests/golden/own_control.txt").read_text()
    assert _l4s.golden([result._record]) == golden


def test_what_a_class_does_not_define_is_reno_and_fifo() -> None:
    class Mine(l4s.CongestionControl):
        name = "reno"

    plain = BASE.with_(aqm={"kind": "fifo", "limit": "60p"})
    reno = l4s.run(plain)
    assert l4s.run(plain, cc={"A": Mine}).summary == reno.summary
    # And if it defines all of it in Python.

    class All(Spelled):
        def ssthresh(self, window: l4s.Window, why: str) -> int:
            assert why in ("loss", "timeout", "ecn")
            return super().ssthresh(window, why)

    assert l4s.run(plain, cc={"A": All}).summary == reno.summary
    # And by the methods of the base class.

    class Base(l4s.CongestionControl):
        name = "reno"

        def grow(self, window: l4s.Window, ack: l4s.Ack) -> None:
            super().grow(window, ack)

        def ssthresh(self, window: l4s.Window, why: str) -> int:
            return super().ssthresh(window, why)

    assert l4s.run(plain, cc={"A": Base}).summary == reno.summary

    class Short(l4s.Aqm):
        limit = 60

    fifo = l4s.run(plain, aqm=Short).summary
    assert reno.summary["groups"][0]["retransmits"] > 0
    assert (fifo["queues"], fifo["groups"]) == (reno.summary["queues"], reno.summary["groups"])


def test_the_scalable_law_holds() -> None:
    one = l4s.Scenario(
        duration="60s",
        link={"rate": "40mbit"},
        aqm={"kind": "dualpi2", "profile": "dctth"},
        group=[{"name": "A", "cc": "reno", "rtt": "20ms"}],
    )
    a = l4s.run(one, cc={"A": Scalable}).summary["groups"][0]
    # W = 2/p where marks come evenly (DCttH §2.1); a step marks in bursts, which takes fewer.
    assert a["cc"] == "scalable" and 0.5 < a["window_pkts"] * a["mark"] / 2 < 2


def test_a_single_queue_of_python_controls_its_delay() -> None:
    result = l4s.run(BASE.with_(duration="30s"), aqm=Pi2)
    (queue,) = result.summary["queues"]
    assert queue["name"] == "Q" and abs(queue["delay_ms"]["mean"] - 15) < 4
    assert result.summary["link"]["utilization"] > 0.99
    p_base = pa.table(result.series)["p_base"].drop_null().to_pylist()
    assert 0 < max(p_base) < 1


def test_chance_is_the_seed_s() -> None:
    runs = [l4s.run(BASE.with_(seed=seed), aqm=Pi2).summary_json for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2].replace('"seed":2', '"seed":1')


def test_each_connection_has_chance_of_its_own() -> None:
    first: list[float] = []

    class Draws(l4s.CongestionControl):
        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            if not hasattr(self, "drawn"):
                self.drawn = self.rng.random()
                first.append(self.drawn)
            if self.rng.random() < 0.01:
                window.cwnd += 1

    two = BASE.with_({"group.A.flows": 2}, duration="2s")
    runs = [l4s.run(two.with_(seed=seed), cc=Draws).summary_json for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2].replace('"seed":2', '"seed":1')
    assert first[:3] == first[3:6] and len(set(first)) == 6


def test_two_queues_of_python_are_told_apart() -> None:
    result = l4s.run(BASE.with_({"group.A.cc": "prague"}), aqm=Dual)
    low, classic = result.summary["queues"]
    assert (low["name"], classic["name"]) == ("L", "C")
    assert low["mark"] > 0 and low["delay_ms"]["p99"] < 5 and classic["marks"]["classic"] == 0
    assert low["marks"]["step"] > 0


def test_an_algorithm_sees_what_it_is_told_of() -> None:
    seen: dict[str, object] = {}
    codepoints: set[int] = set()

    class Look(l4s.CongestionControl):
        name, ecn = "look", "dctcp"

        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            assert ack.delivered_ce <= ack.delivered and ack.una <= ack.nxt
            assert ack.rtt_ns is None or ack.rtt_ns >= ack.min_rtt_ns >= 10_000_000
            assert window.cwnd >= 1 and (window.ssthresh is None) == (
                "threshold" not in seen and window.ssthresh is None
            )
            seen["now"] = ack.now_ns
            seen["repr"] = repr(window)

        def ssthresh(self, window: l4s.Window, why: str) -> int:
            seen.setdefault("threshold", window.cwnd)
            seen[why] = True
            return max(window.cwnd // 2, 2)

        def alpha(self) -> float:
            return 0.25

    class Watch(l4s.Aqm):
        def enqueue(self, packet: l4s.Packet) -> l4s.Verdict:
            assert packet.sojourn_ns == 0 and packet.queue == "Q"
            codepoints.add(packet.ecn)
            return "mark" if packet.waiting_packets > 20 else "forward"

        def dequeue(self, packet: l4s.Packet) -> l4s.Verdict:
            assert 0 < packet.size <= 1514 and packet.sojourn_ns >= 0
            assert packet.waiting_bytes >= packet.waiting_packets * 54
            assert packet.is_capable == (packet.ecn != 0) and packet.is_l4s == (packet.ecn % 2 == 1)
            return None

    result = l4s.run(BASE, cc={"A": Look}, aqm=Watch)
    assert seen["now"] <= 10_000_000_000 and codepoints == {0, 2}
    assert seen["ecn"] is True and "Window(cwnd=" in str(seen["repr"])
    alphas = pa.table(result.series)["alpha"].drop_null().unique().to_pylist()
    assert alphas == [0.25]


def test_a_control_may_steer_alone() -> None:
    rates = set()

    class Fixed(l4s.CongestionControl):
        """Twenty segments, at 10 Mb/s, whatever happens."""

        name, pacing, steers_alone = "fixed", True, True

        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            window.cwnd = 20

        def pacing_rate(self, in_flight: int, mss: int, srtt_ns: int) -> int | None:
            rates.add((mss, in_flight <= 20))
            return 10_000_000 // 8

    a = l4s.run(BASE.with_({"group.B.flows": 0}), cc={"A": Fixed}).summary["groups"][0]
    # 1448 of each 1500 bytes are paced.
    assert abs(a["rate_bps"] / (10e6 * 1500 / 1448) - 1) < 0.02 and rates == {(1448, True)}


def test_a_control_hears_of_pauses() -> None:
    heard = []

    class Idle(l4s.CongestionControl):
        def on_restart(self, window: l4s.Window, now_ns: int, pause_ns: int, rto_ns: int) -> None:
            heard.append((now_ns, pause_ns, rto_ns))
            window.cwnd, window.ssthresh = 10, None

    frames = {"group": "A", "rate": "1mbit", "fps": 1}
    idle = BASE.with_({"group.A.flows": 0, "group.B.flows": 0, "app": [frames]})
    l4s.run(idle, cc={"A": Idle})
    # The first is from the handshake to the first frame.
    assert len(heard) == 10 and all(900_000_000 < pause < 10**9 for _, pause, _ in heard[1:])
    assert all(rto >= 200_000_000 for _, _, rto in heard)


def test_a_window_grows_by_its_methods_and_never_shrinks() -> None:
    seen: list[tuple[int, int | None]] = []

    class Look(l4s.CongestionControl):
        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            if not seen:
                window.cwnd, window.ssthresh = 20, 12
                seen.append((window.slow_start(5), window.cwnd))
                window.additive_increase(1, 4294967295)
                seen.append((window.slow_start(4294967295), window.cwnd))
                window.cwnd, window.ssthresh = 10, None

    l4s.run(BASE.with_(duration="100ms"), cc={"A": Look})
    # Outside of slow start all is left; no window is larger than 2^31 - 2.
    assert seen == [(5, 20), (4294967295, 2147483646)]


STEERS = " steers_alone = True\n def pacing_rate(self, *a): "


def wrong_control(body: str) -> type[l4s.CongestionControl]:
    """A control with one method that is wrong."""
    scope: dict[str, object] = {"l4s": l4s}
    exec(f"class Wrong(l4s.CongestionControl):\n{body}", scope)
    return scope["Wrong"]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (" def ssthresh(self, w, why): return 'x'", TypeError, "returned 'x': expected whole segm"),
        (" def ssthresh(self, w, why): return 1", ValueError, "from 2 to"),
        (" def ssthresh(self, w, why): return None", TypeError, "returned None"),
        (
            " def ssthresh(self, w, why): w.cwnd = 4",
            ValueError,
            "changed the window: expected that",
        ),
        (
            " def ssthresh(self, w, why): w.ssthresh = 4; return 4",
            ValueError,
            "cwnd is set in on_ack or",
        ),
        (" def ssthresh(self, w, why): return 2**40", ValueError, "expected whole segments"),
        (" def grow(self, w, ack): w.cwnd = -3", ValueError, "cwnd = -3"),
        (" def grow(self, w, ack): w.cwnd = 1.5", TypeError, "float"),
        (" def grow(self, w, ack): w.cwnd = 0", ValueError, "cwnd = 0"),
        (" def on_ack(self, w, ack): ack.nothing", AttributeError, "nothing"),
        (" def on_ack(self, w): pass", TypeError, "positional"),
        (" steers_alone = True\n def pacing_rate(self, *a): return -1", TypeError, "bytes per sec"),
        (" def alpha(self): return 'much'", TypeError, "str"),
        (" def alpha(self): return 7", ValueError, r"Wrong\.alpha returned 7: expected 0 to 1"),
        (" def alpha(self): return float('nan')", ValueError, r"alpha returned nan: expected 0"),
        (" def ssthresh(self, w, why): return 2.5", TypeError, r"Wrong\.ssthresh returned 2\.5"),
        (STEERS + "return 0", ValueError, r"Wrong\.pacing_rate returned 0: expected None, or wh"),
        (STEERS + "return 1.5", TypeError, r"returned 1\.5: .* bytes per second, from 1 to"),
        (STEERS + "return 2**80", ValueError, "bytes per second, from 1 to 1000000000000"),
        (" def grow(self, w, ack): w.ssthresh = 'x'", TypeError, "ssthresh = 'x': expected whole"),
        (" name = 3", TypeError, r"Wrong\.name = 3: expected a text"),
        (" ecn = 3", TypeError, r"Wrong\.ecn = 3: expected \"off\""),
        (" pacing = 'yes'", TypeError, r"Wrong\.pacing = 'yes': expected True or False"),
        (" steers_alone = None", TypeError, r"Wrong\.steers_alone = None: expected True or"),
        (" ecn = 'classic'", ValueError, 'expected "off", "dctcp" or "l4s"'),
        (" def __init__(self): raise KeyError('mine')", KeyError, "mine"),
    ],
)
def test_nonsense_stops_its_run_with_words(body: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        l4s.run(BASE, cc={"A": wrong_control(body)})
    assert ("expected" in str(raised.value)) == isinstance(raised.value, l4s.AlgorithmError)


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (" def dequeue(self, p): return 'keep'", ValueError, "'keep': expected None, \"forward\""),
        (" def dequeue(self, p): return 1/0", ZeroDivisionError, "division"),
        (" def enqueue(self, p): return True", ValueError, "returned True"),
        (" dual = True\n def classify(self, p): return 'Q'", ValueError, 'expected "L", "C"'),
        (" dual = True\n def classify(self, p): return None", ValueError, "returned None"),
        (" tick_ns = 10**6\n def tick(self, now): pass", TypeError, "positional"),
        (" tick_ns = 5", ValueError, "at least 1000"),
        (" limit = 0", ValueError, "packets, from 1"),
        (" def probability(self): return 7", ValueError, "expected 0 to 1"),
        (" def probability(self): return 'x'", TypeError, r"Wrong\.probability returned 'x'"),
        (" def probability(self): return float('nan')", ValueError, "returned nan: expected 0"),
        (" def dequeue(self, p): return 3", TypeError, r"Wrong\.dequeue returned 3: expected None"),
        (
            " dual = True\n def classify(self, p): return 'LC'[p.now_ns // 1000 % 2]\n"
            " def l_goes_first(self, *a): pass",
            TypeError,
            "returned None: expected Tru",
        ),
        (" name = None", TypeError, r"Wrong\.name = None: expected a text"),
        (" dual = 2", TypeError, r"Wrong\.dual = 2: expected True or False"),
        (" limit = 'x'", TypeError, r"Wrong\.limit = 'x': expected packets"),
        (" tick_ns = 1.5", TypeError, r"Wrong\.tick_ns = 1\.5: expected nanoseconds"),
    ],
)
def test_nonsense_of_a_discipline_too(body: str, error: type[Exception], words: str) -> None:
    scope: dict[str, object] = {"l4s": l4s}
    exec(f"class Wrong(l4s.Aqm):\n{body}", scope)
    with pytest.raises(error, match=words):
        l4s.run(BASE, aqm=scope["Wrong"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "body", "words"),
    [
        ("Aqm", " def tick(self, *a): pass", r"tick is never called: tick_ns, .* is not set"),
        ("Aqm", " def classify(self, p): pass", r"classify is never called: .* dual = True"),
        ("Aqm", " def l_goes_first(self, *a): pass", "l_goes_first is never called"),
        ("Aqm", " tick_ns = 10**6\n def tick(self, *a): yield", "tick is a generator"),
        ("Aqm", " def dequeue(self, p): yield", "dequeue is a generator or a coroutine"),
        ("Aqm", " async def enqueue(self, p): pass", "enqueue is a generator or a coroutine"),
        (
            "Aqm",
            " def __init__(self): self.dequeue = lambda p: 'drop'",
            "dequeue is set on the instance: define it in the class",
        ),
        ("CongestionControl", " def pacing_rate(self, *a): pass", r"needs steers_alone = True"),
        (
            "CongestionControl",
            " steers_alone = True\n def grow(self, w, ack): pass",
            "grow is never called: with steers_alone = True, on_ack sets",
        ),
        ("CongestionControl", " def on_ack(self, w, ack): yield", "on_ack is a generator"),
        (
            "CongestionControl",
            " def __init__(self): self.on_ack = print",
            "on_ack is set on the instance",
        ),
    ],
)
def test_a_method_that_would_never_run_is_refused(
    base: str, body: str, words: str, tmp_path: Path
) -> None:
    scope: dict[str, object] = {"l4s": l4s}
    exec(f"class Wrong(l4s.{base}):\n{body}", scope)
    own = {"aqm" if base == "Aqm" else "cc": scope["Wrong"]}
    with pytest.raises(l4s.AlgorithmError, match=rf"^Wrong\..*{words}"):
        l4s.run(BASE, **own)  # type: ignore[arg-type]
    # A sweep too, before it writes anything.
    with pytest.raises(l4s.AlgorithmError, match=words):
        l4s.sweep(BASE, tmp_path / "out", **own)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_a_number_may_have_the_name_of_a_method() -> None:
    class Mine(l4s.CongestionControl):
        def __init__(self) -> None:
            self.alpha = 0.5  # type: ignore[assignment,method-assign]

    short = BASE.with_(duration="1s")
    assert l4s.run(short, cc=Mine).series["alpha"].null_count > 0


def test_no_probability_is_none() -> None:
    class Mine(l4s.Aqm):
        def probability(self) -> None:
            return None

    class Too(l4s.CongestionControl):
        def alpha(self) -> None:
            return None

    series = l4s.run(BASE.with_(duration="1s"), aqm=Mine, cc=Too).series
    assert series["p_base"].null_count == series["alpha"].null_count == len(series)


def test_a_class_for_all_groups() -> None:
    both = l4s.run(BASE.with_(duration="2s"), cc=Scalable).summary
    assert [group["cc"] for group in both["groups"]] == ["scalable", "scalable"]
    each = l4s.run(BASE.with_(duration="2s"), cc={"A": Scalable, "B": lambda: Scalable()})
    assert each.summary == both
    with pytest.raises(TypeError, match=r"cc = <.*Scalable.*>: expected a subclass of l4s\.Cong"):
        l4s.run(BASE, cc=Scalable())  # type: ignore[arg-type]


def test_every_field_says_its_unit_and_range() -> None:
    told = Path(l4s.__file__).with_name("_l4s.pyi").read_text()
    for kind in (l4s.Ack, l4s.Window, l4s.Packet):
        assert kind.__doc__
        body = told.partition(f"class {kind.__name__}:")[2].partition("@final")[0]
        for name, field in vars(kind).items():
            if name.startswith("_"):
                continue
            doc = " ".join((field.__doc__ or "").split())
            typed = re.search(rf'def {name}\(self.*?\n +"""(.*?)"""', body, re.DOTALL)
            assert typed and " ".join(typed[1].split()) == doc, (kind, name)
            if not callable(field):
                # A range or all values, and a unit where it has one.
                assert re.search(r"from \d|at least|True or False|: L or C|; 0 at|: 0 Not", doc), (
                    name
                )
                assert not name.endswith("_ns") or "nanoseconds" in doc, name


def test_they_show_what_they_hold() -> None:
    seen: dict[str, str] = {}

    class Look(l4s.CongestionControl):
        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            seen.update(ack=repr(ack), window=repr(window))

    class Watch(l4s.Aqm):
        def dequeue(self, packet: l4s.Packet) -> l4s.Verdict:
            seen["packet"] = repr(packet)
            return None

    l4s.run(BASE.with_(duration="100ms"), cc=Look, aqm=Watch)
    assert re.fullmatch(r"Window\(cwnd=\d+, ssthresh=None, limited=(True|False)\)", seen["window"])
    for kind, shown in [(l4s.Ack, seen["ack"]), (l4s.Packet, seen["packet"])]:
        fields = re.fullmatch(rf"{kind.__name__}\((.*)\)", shown)
        assert fields
        names = {part.partition("=")[0] for part in fields[1].split(", ")}
        own = {name for name in vars(kind) if not name.startswith(("_", "is_"))}
        assert names == own
        assert eval(f"dict({fields[1]})")["now_ns"] > 0


def test_what_is_no_algorithm_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a subclass of l4s\.Aqm"):
        l4s.run(BASE, aqm=dict)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a subclass of l4s\.CongestionControl"):
        l4s.run(BASE, cc={"A": l4s.Aqm})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        (l4s.CongestionControl, "on_acks", "on_ack"),
        (l4s.CongestionControl, "sstresh", "ssthresh"),
        (l4s.Aqm, "deqeue", "dequeue"),
    ],
)
def test_a_misspelt_method_is_noticed(base: type, name: str, meant: str) -> None:
    with pytest.warns(UserWarning, match=rf"Typo\.{name} has no .* did you mean {meant}\?") as seen:
        type("Typo", (base,), {name: lambda self: None})
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("Own", (base,), {f"_{name}": 1, "grow_fast": 1, meant: lambda self: None})


def test_the_traceback_is_the_user_s_own() -> None:
    def deep() -> None:
        raise RuntimeError("in the middle")

    class Raises(l4s.CongestionControl):
        calls = 0

        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            Raises.calls += 1
            if Raises.calls == 100:
                deep()

    with pytest.raises(RuntimeError) as raised:
        l4s.run(BASE, cc={"A": Raises})
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[-2:] == ["on_ack", "deep"]
    # It was not asked again.
    assert Raises.calls == 100


def test_a_run_that_raises_leaves_others_alone() -> None:
    class Raises(l4s.CongestionControl):
        def grow(self, window: l4s.Window, ack: l4s.Ack) -> None:
            raise RuntimeError("no")

    want, seen = l4s.run(BASE, cc={"A": Scalable}).summary_json, []

    def good() -> None:
        seen.append(l4s.run(BASE, cc={"A": Scalable}).summary_json)

    threads = [threading.Thread(target=good) for _ in range(3)]
    for thread in threads:
        thread.start()
    with pytest.raises(RuntimeError):
        l4s.run(BASE, cc={"A": Raises})
    for thread in threads:
        thread.join()
    assert seen == [want] * 3
