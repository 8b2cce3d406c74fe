"""What the tests share."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import distributed
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def command() -> str:
    """The command line that came with the package, or the one that ``L4S`` names."""
    scripts = Path(sysconfig.get_path("scripts")) / "l4s"
    found = os.environ.get("L4S") or (str(scripts) if scripts.exists() else shutil.which("l4s"))
    if not found:
        pytest.skip("there is no command l4s")
    return found


@pytest.fixture(scope="session")
def client():
    """Two workers in this process: the quickest that does all but die."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
