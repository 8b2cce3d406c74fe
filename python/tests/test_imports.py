"""What `import l4s` brings, and what only comes when it is wanted."""

from __future__ import annotations

import subprocess
import sys

LATER = ("dask", "distributed", "matplotlib", "numpy", "pandas", "pyarrow", "tqdm")


def brought_by(code: str) -> set[str]:
    """Which of the large packages a process has that ran this."""
    code += f"\nimport sys; print(*sorted(set({LATER!r}) & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_a_run_needs_neither_dask_nor_arrow() -> None:
    assert brought_by("import l4s; dir(l4s); l4s.Scenario('web').runs[0]; l4s.columns()") == set()
    one = "l4s.Scenario('one-against-one').runs[0].with_(duration='50ms')"
    assert brought_by(f"import l4s; l4s.run({one}).summary; l4s.run({one}).series") <= {"tqdm"}


def test_to_read_a_folder_needs_no_dask() -> None:
    reading = "import l4s\ntry: l4s.read('/')\nexcept l4s.SweepError: pass"
    assert brought_by(reading) & {"dask", "distributed", "matplotlib", "pandas"} == set()
