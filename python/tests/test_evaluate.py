"""The evaluation of congestion controls by RFC 9743, and of queue disciplines by RFC 7928."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import subprocess
import threading
from pathlib import Path

import pytest

import l4s
from l4s import _l4s

#: The chapter with the fewest runs.
CHEAP = ["overload"]


class Plain(l4s.CongestionControl):
    """Reno, as the base class is."""


class IgnoresLoss(l4s.CongestionControl):
    """Reno that does not reduce for a loss."""

    def ssthresh(self, window: l4s.Window, why: str) -> int:
        return max(window.cwnd, 2) if why == "loss" else super().ssthresh(window, why)


@pytest.fixture(scope="module")
def reno() -> l4s.Evaluation:
    return l4s.evaluate("reno", quick=True, chapters=CHEAP)


@pytest.fixture(scope="module")
def plain() -> l4s.Evaluation:
    return l4s.evaluate(Plain, quick=True, chapters=CHEAP)


def numbers(evaluation: l4s.Evaluation) -> list[object]:
    """What does not depend on the name of the control."""
    return [
        (v.id, v.outcome, v.conditions, v.failed, v.worst and v.worst.value)
        for v in evaluation.verdicts
    ]


def test_an_evaluation_is_a_mapping_of_criteria(reno: l4s.Evaluation) -> None:
    ids = [verdict.id for verdict in reno.verdicts]
    assert list(reno) == ids and len(reno) == len(ids)
    assert ids[0] in reno and "none-such" not in reno
    assert [reno[name] for name in reno] == list(reno.verdicts)


def test_reno_in_python_has_the_verdicts_of_reno(
    reno: l4s.Evaluation, plain: l4s.Evaluation
) -> None:
    assert numbers(plain) == numbers(reno)
    assert (plain.passed, plain.of) == (reno.passed, reno.of)
    assert (plain.name, reno.name) == ("Plain", "reno")


def test_a_control_that_ignores_loss_fails_the_loss_of_many() -> None:
    evaluation = l4s.evaluate(IgnoresLoss, quick=True, chapters=["itself"])
    loss = evaluation["loss-of-many"]
    assert loss.outcome == "fail" and loss.failed == loss.conditions == 2
    assert loss.accepted == {"at_most": 2.0} and loss.unit == " %"
    assert loss.worst is not None and loss.worst.value > 2


def test_the_commands_of_the_worst_runs_make_their_values(
    reno: l4s.Evaluation, plain: l4s.Evaluation, command: str
) -> None:
    """By the command line for a control of l4s, by a call for one of Python's."""
    ours, own = reno["collapse"].worst, plain["collapse"].worst
    assert ours is not None and own is not None
    drops = []
    for seed in (1, 2, 3):
        words = shlex.split(ours.command.replace("--seed 1", f"--seed {seed} --json"))
        ran = subprocess.run([command, *words[1:]], capture_output=True, check=True)
        summary = json.loads(ran.stdout)
        call = own.command.replace("seed=1", f"seed={seed}")
        result = eval(call, {"l4s": l4s, "Plain": Plain})
        assert result.summary["groups"][0]["packets"] == summary["groups"][0]["packets"]
        drops.append(100 * summary["groups"][0]["drop"])
    assert sum(drops) / 3 == pytest.approx(ours.value, abs=1e-9)


def test_what_makes_a_control_gives_its_name() -> None:
    def made() -> Plain:
        return Plain()

    for control, name in ((Plain, "Plain"), (made, "made"), (lambda: Plain(), "Plain")):
        assert _l4s.chapters(control, True, False)[0].entrant == name


def test_the_criteria_of_l4s_are_for_the_ect1_of_a_class() -> None:
    class Scalable(l4s.CongestionControl):
        ecn = "l4s"

    evaluation = l4s.evaluate(Scalable, quick=True, chapters=["l4s"])
    assert evaluation["ect1"].outcome == "pass" and evaluation.of == 9


def test_it_is_saved_as_the_command_line_does(plain: l4s.Evaluation, tmp_path: Path) -> None:
    out = tmp_path / "new" / "evaluation"
    plain.save(out)
    plain.save(out)
    assert sorted(os.listdir(out)) == ["evaluation.json", "evaluation.md", "index.html"]
    (column,) = json.loads((out / "evaluation.json").read_text())["evaluated"]
    assert column["name"] == "Plain" and column["of"] == plain.of
    assert [verdict["id"] for verdict in column["verdicts"]] == ["collapse", "full-backoff"]
    page = (out / "index.html").read_text()
    assert "Evaluation of Plain" in page and "l4s.evaluate(Plain, quick=True, chapters=" in page
    assert "| collapse | RFC 9743 §5.1.1 | at most 50 % |" in (out / "evaluation.md").read_text()
    again = pickle.loads(pickle.dumps(plain))
    assert again.verdicts == plain.verdicts and str(again) == str(plain)
    assert repr(plain) == f"<Evaluation of Plain: {plain.passed} of {plain.of} criteria hold>"


def test_another_evaluation_is_not_overwritten(
    reno: l4s.Evaluation, plain: l4s.Evaluation, tmp_path: Path
) -> None:
    plain.save(tmp_path)
    before = (tmp_path / "evaluation.json").read_bytes()
    with pytest.raises(l4s.SweepError, match="already holds another evaluation"):
        reno.save(tmp_path)
    assert (tmp_path / "evaluation.json").read_bytes() == before
    (tmp_path / "notes.txt").touch()
    with pytest.raises(l4s.SweepError, match=r"something else, such as notes\.txt"):
        plain.save(tmp_path)
    with pytest.raises(l4s.SweepError, match="is a file"):
        plain.save(tmp_path / "notes.txt")


def test_what_is_no_control_is_refused() -> None:
    with pytest.raises(l4s.ScenarioError, match='did you mean "cubic"'):
        l4s.evaluate("cubik")
    with pytest.raises(l4s.ScenarioError, match='did you mean "best"'):
        l4s.evaluate("prague:bets")
    words = r": expected a name, a subclass of l4s\.CongestionControl, or a function that makes one"
    for control in (Plain(), None, 3):
        with pytest.raises(TypeError, match=r"^control = .*" + words):
            l4s.evaluate(control)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a subclass of l4s\.CongestionControl"):
        l4s.evaluate(l4s.Aqm)  # type: ignore[arg-type]


@pytest.mark.parametrize("chapters", [["alon"], "alon"])
def test_an_unknown_chapter_is_refused(chapters: list[str] | str) -> None:
    words = r"'alon': expected alone, .*\n  help: did you mean 'alone'\?"
    with pytest.raises(ValueError, match=words):
        l4s.evaluate(Plain, chapters=chapters)
    with pytest.raises(ValueError, match="at least one"):
        l4s.evaluate(Plain, chapters=[])


def test_an_unknown_criterion_is_refused(reno: l4s.Evaluation) -> None:
    with pytest.raises(KeyError, match="expected collapse, full-backoff"):
        reno["colapse"]


def test_an_exception_of_a_class_ends_it() -> None:
    class Raises(l4s.CongestionControl):
        def on_ack(self, window: l4s.Window, ack: l4s.Ack) -> None:
            raise RuntimeError("no")

    threads = threading.active_count()
    with pytest.raises(RuntimeError, match="no"):
        l4s.evaluate(Raises, chapters=CHEAP)
    assert threading.active_count() == threads


class Fills(l4s.Aqm):
    """A FIFO: it neither marks nor drops."""

    #: The buffer of the chapter, 250 ms at 40 Mb/s. A class has a limit of its own.
    limit = 833


#: The chapter of disciplines with the fewest runs.
SHORT = ["unresponsive"]


def test_a_discipline_has_the_bytes_of_the_command_line(command: str, tmp_path: Path) -> None:
    words = ["evaluate-aqm", "fifo", "--quick", "--only", *SHORT, "--out", "out"]
    subprocess.run([command, *words], cwd=tmp_path, capture_output=True, check=True)
    fifo = l4s.evaluate_aqm("fifo", quick=True, chapters=SHORT)
    fifo.save(tmp_path / "own")
    for name in ("evaluation.json", "evaluation.md"):
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_discipline_in_python_has_verdicts_and_calls() -> None:
    fifo = l4s.evaluate_aqm("fifo", quick=True, chapters=SHORT)
    own = l4s.evaluate_aqm(Fills, quick=True, chapters=SHORT)
    assert own.name == "Fills"
    for verdict, of_fifo in zip(own.verdicts, fifo.verdicts, strict=True):
        assert (verdict.id, verdict.outcome) == (of_fifo.id, of_fifo.outcome)
        assert verdict.worst is not None and of_fifo.worst is not None
        # Its limit is in packets, that of the chapter in bytes.
        assert verdict.worst.value == pytest.approx(of_fifo.worst.value, rel=0.02)
    assert own["overload-delay"].outcome == "fail"
    worst = own["overload-delay"].worst
    assert worst is not None and "evaluate-aqm-unresponsive" in worst.command
    result = eval(worst.command, {"l4s": l4s, "Fills": Fills})
    delays = [group["delay_ms"]["mean"] for group in result.summary["groups"]]
    # The mean of three seeds, which are alike where the buffer is always full.
    assert max(delays) == pytest.approx(worst.value, rel=0.01)


def test_what_is_no_discipline_is_refused() -> None:
    with pytest.raises(l4s.ScenarioError, match='did you mean "pie"'):
        l4s.evaluate_aqm("pye")
    with pytest.raises(TypeError, match=r"expected a subclass of l4s\.Aqm"):
        l4s.evaluate_aqm(Plain)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"discipline = None: expected a name, a subclass of l4s\.Aqm"
    ):
        l4s.evaluate_aqm(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="did you mean 'bursts'"):
        l4s.evaluate_aqm("pie", chapters=["burst"])
