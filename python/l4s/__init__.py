"""L4S at the desk: the engine of l4s for Python.

>>> import l4s
>>> result = l4s.run(l4s.Scenario("one-against-one").runs[0].with_(duration="5s"))
>>> result.summary["link"]["utilization"] > 0.95
True
"""

from typing import TYPE_CHECKING, Any

from l4s._l4s import VERSION, Ack, Packet, Table, Window
from l4s.algorithms import Aqm, CongestionControl, Verdict
from l4s.dictionary import Column, columns
from l4s.errors import AlgorithmError, Fault, L4sError, ScenarioError, SweepError
from l4s.evaluation import Evaluation, Judgement, Worst, evaluate, evaluate_aqm
from l4s.result import Result, run
from l4s.scenario import Grid, Scenario, bundled

if TYPE_CHECKING:
    from l4s.sweeps import Failure, Sweep, read, sweep

__version__ = VERSION

__all__ = [
    "Ack",
    "AlgorithmError",
    "Aqm",
    "Column",
    "CongestionControl",
    "Evaluation",
    "Failure",
    "Fault",
    "Grid",
    "Judgement",
    "L4sError",
    "Packet",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepError",
    "Table",
    "Verdict",
    "Window",
    "Worst",
    "__version__",
    "bundled",
    "columns",
    "evaluate",
    "evaluate_aqm",
    "read",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    # They bring NumPy and Arrow, which a run does not need.
    if name in ("Failure", "Sweep", "read", "sweep"):
        from l4s import sweeps

        return globals().setdefault(name, getattr(sweeps, name))
    raise AttributeError(f"module 'l4s' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
