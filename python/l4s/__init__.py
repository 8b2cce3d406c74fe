"""L4S at the desk: the engine of l4s for Python.

>>> import l4s
>>> result = l4s.run(l4s.Scenario("one-against-one").runs[0].with_(duration="5s"))
>>> result.summary["link"]["utilization"] > 0.95
True
"""

from l4s._l4s import VERSION, Ack, Packet, Table, Window
from l4s.algorithms import Aqm, CongestionControl, Verdict
from l4s.errors import Fault, L4sError, ScenarioError, SweepError
from l4s.result import Result, run
from l4s.scenario import Grid, Scenario, bundled
from l4s.sweeps import Failure, Sweep, read, sweep

__version__ = VERSION

__all__ = [
    "Ack",
    "Aqm",
    "CongestionControl",
    "Failure",
    "Fault",
    "Grid",
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
    "__version__",
    "bundled",
    "read",
    "run",
    "sweep",
]
