"""Many runs, on the cores of this machine or of a cluster: :func:`sweep`, and :func:`read`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from l4s._progress import off, tqdm
from l4s.algorithms import Aqm, CongestionControl
from l4s.result import check_groups, nanoseconds
from l4s.scenario import Grid, Scenario
from l4s.sweeps import folder, interrupts, local
from l4s.sweeps.batches import Batches, keys_of, run_all
from l4s.sweeps.results import Failure, Sweep, read
from l4s.sweeps.work import Work

if TYPE_CHECKING:
    import distributed

    from l4s.result import MakeAqm, MakeCc

__all__ = ["Failure", "Sweep", "read", "sweep"]


def sweep(
    grid: Grid | Scenario,
    out: str | os.PathLike[str],
    *,
    client: distributed.Client | None = None,
    keep: Collection[Literal["series", "delays", "flows"]] = (),
    sampling_s: float | None = None,
    aqm: MakeAqm | None = None,
    cc: Mapping[str, MakeCc] | None = None,
    batch: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Does every run of ``grid`` that is not in the folder ``out`` yet.

    Each run gives what :func:`l4s.run` gives, to the last bit, whoever does it; that is, without
    ``keep=["series"]``, with ``tables=False``: samples are among the events that it counts.

    Workers write their results into ``out`` in partitions that appear whole, so that nothing is
    lost but what is under way when a worker, the scheduler or this process ends; the same call does
    the rest. So does a call with a grid that has more values or seeds. docs/scaling.md says what it
    costs, and how to use a cluster.

    Args:
        grid: the runs; all of them are checked before the first begins.
        out: a folder of this sweep's own, new or from an earlier call.
        client: whose workers do the runs: any Dask cluster. They must all have this l4s, and share
            ``out``. Without it, a process per core of this machine, gone at the end.
        keep: tables to keep besides the summaries. The time series of a run are some 1 KB per
            second and flow.
        sampling_s: seconds between their samples; chosen by the length of each run unless set.
        aqm: a discipline of your own in the place of the scenario's, as for :func:`l4s.run`.
        cc: congestion controls of your own by group, likewise.
        batch: runs per task and partition; unless set, as many as take some seconds.
        progress: a bar; by default where a terminal or notebook shows it.

    Returns:
        What ``out`` has of the runs of ``grid``. Runs that raised are in its ``failures``, and a
        warning says so; the next call tries them again.

    Raises:
        ScenarioError: a run is refused. Nothing was run or written.
        SweepError: ``out`` holds something else, such as results of another code or with other
            tables kept; or the cluster is gone, or of another l4s.
        ValueError, TypeError: another argument is not what it should be.
    """
    if isinstance(grid, Scenario):
        grid = grid.grid()
    own = _own(grid, aqm, cc)
    manifest = folder.manifest(*_kept(keep, sampling_s), own)
    batches = Batches(batch)
    # The directory of this process is not that of the workers.
    path = Path(out).absolute()
    folder.check(path, manifest)
    keys = keys_of(grid, client, progress)
    folder.claim(path, manifest)
    folder.remember(path, keys)
    result = Sweep(path, keys)
    missing = result._missing()
    scenario = grid.scenario
    work = Work(str(path), manifest, scenario._called, scenario._source, scenario._text, dict(own))
    if len(missing):
        # What was done before is done, but says nothing of how fast this goes.
        total, hidden = len(result) + len(missing), off(progress)
        with (
            interrupts.kept() as check,
            nullcontext(client) if client is not None else local.client() as workers,
            tqdm(
                total=total, initial=len(result), disable=hidden, unit="run", smoothing=0.05
            ) as bar,
        ):

            def tell(runs: int) -> None:
                check()
                bar.update(runs)

            run_all(workers, work, grid, keys, missing, batches, tell)
        result._refresh()
    failures = result.failures
    if failures:
        warnings.warn(
            f"{len(failures)} of {len(grid)} runs failed, the first with {failures[0].error!r}: "
            ".failures has them, and the same call tries them again",
            stacklevel=2,
        )
    return result


def _kept(keep: Collection[str], sampling_s: float | None) -> tuple[Collection[str], int | None]:
    if isinstance(keep, str):
        keep = (keep,)
    unknown = [name for name in keep if name not in folder.TABLES]
    if unknown:
        raise ValueError(f"keep: {unknown[0]!r}: expected {', '.join(folder.TABLES)}")
    return keep, nanoseconds(sampling_s)


def _own(
    grid: Grid, aqm: MakeAqm | None, cc: Mapping[str, MakeCc] | None
) -> dict[str, Callable[[], Any]]:
    """The algorithms of Python's, by the place that they take."""
    own: dict[str, Callable[[], Any]] = {} if aqm is None else {"aqm": aqm}
    if cc:
        check_groups(grid[0], cc)
        own |= {f"cc.{group}": make for group, make in cc.items()}
    for place, make in own.items():
        base, sample = Aqm if place == "aqm" else CongestionControl, make()
        if not isinstance(sample, base):
            what = f"expected a subclass of l4s.{base.__name__}, or what makes one"
            raise TypeError(f"{sample!r}: {what}")
    return own
