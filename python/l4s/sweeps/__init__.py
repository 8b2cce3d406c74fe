"""Many runs, on the cores of this machine or of a cluster: :func:`sweep`, and :func:`read`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from l4s import _l4s
from l4s._progress import off, tqdm
from l4s.result import algorithms, check_groups, nanoseconds
from l4s.sweeps import folder, interrupts, local, ship, tasks
from l4s.sweeps.asked import Asked
from l4s.sweeps.batches import Batches, keys_of, run_all
from l4s.sweeps.depends import source
from l4s.sweeps.results import Failure, Sweep, read
from l4s.sweeps.work import Work, ready

if TYPE_CHECKING:
    import distributed

    from l4s.result import MakeAqm, MakeCc
    from l4s.sweeps.asked import Runs

__all__ = ["Failure", "Sweep", "read", "sweep"]


def sweep(
    grid: Runs,
    out: str | os.PathLike[str],
    *,
    client: distributed.Client | None = None,
    keep: Collection[Literal["series", "delays", "flows"]] = (),
    sampling_s: float | None = None,
    aqm: MakeAqm | None = None,
    cc: MakeCc | Mapping[str, MakeCc] | None = None,
    batch: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Does every run of ``grid`` that is not in the folder ``out`` yet.

    Each run gives the results of :func:`l4s.run`, to the last bit, on any worker; that is, without
    ``keep=["series"]``, with ``tables=False``: samples are among the events that it counts.

    Workers write their results into ``out`` in partitions that appear whole, so that nothing is
    lost except the runs under way when a worker, the scheduler or this process ends; the same call
    does the rest. So does a call with a grid that has more values or seeds. docs/guides/scaling.md
    has the costs, and how to use a cluster.

    Args:
        grid: the runs: a grid, a scenario, or several of these, one after the other. All are
            checked before the first begins.
        out: a folder of this sweep's own, new or from an earlier call.
        client: whose workers do the runs: any Dask cluster. They must all have this l4s, and share
            ``out``. Without it, a process per core of this machine, gone at the end.
        keep: tables to keep in addition to the summaries. The time series of a run are some 1 KB
            per second and flow.
        sampling_s: seconds between their samples; chosen by the length of each run unless set.
        aqm: a discipline of your own in the place of the scenario's, as for :func:`l4s.run`.
        cc: a congestion control of your own for all groups, or several by group, likewise. Results
            in ``out`` count only where the code of these, and all that it uses, was the same.
        batch: runs per task and partition; unless set, as many as take some seconds.
        progress: a bar; by default where a terminal or notebook shows it.

    Returns:
        The runs of ``grid`` in ``out``. Runs that raised are in its ``failures``, and a
        warning says so; the next call tries them again.

    Raises:
        ScenarioError: a run is refused. Nothing was run or written.
        AlgorithmError: a class of yours has an invalid attribute, or a method that is never called.
        SweepError: ``out`` holds something else, such as results of another code or with other
            tables kept; or the cluster is gone, or of another l4s.
        ValueError, TypeError: another argument is invalid.
    """
    asked = Asked(grid)
    own = algorithms(aqm, cc)
    # Before anything of them is asked, which may change them.
    kept, sampling_ns = _kept(keep, sampling_s)
    manifest = folder.manifest(kept, sampling_ns, own)
    if sampling_ns is not None and "series" in kept:
        for scenario in asked.firsts():
            scenario._only().check_sampling(sampling_ns)
    _try(asked, own)
    shipped = ship.packed(own)
    batches = Batches(batch)
    # The directory of this process is not that of the workers.
    path = Path(out).absolute()
    texts = asked.as_run()
    folder.check(path, manifest, texts)
    if client is not None:
        tasks.ask(client, ready, (manifest["code"], shipped))
    keys = keys_of(asked, client, progress)
    folder.claim(path, manifest, texts, source(own))
    folder.remember(path, keys)
    result = Sweep(path, keys)
    missing = result._missing()
    work = Work(str(path), manifest, shipped)
    if len(missing):
        # Earlier results count as done, but not for the estimate of speed.
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

            run_all(workers, work, asked, keys, missing, batches, tell)
        result._refresh()
    failures = result.failures
    if failures:
        warnings.warn(
            f"{len(failures)} of {len(asked)} runs failed, the first with {failures[0].error!r}: "
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


def _try(asked: Asked, own: Mapping[str, Callable[[], Any]]) -> None:
    """Refuses anything but an algorithm that can run, and groups that do not exist."""
    for scenario in asked.firsts() if own else ():
        check_groups(scenario, own)
    for place, make in own.items():
        _l4s.check(make, place == "aqm")
