"""What the pages say in Python, run."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

import l4s


def blocks(page: str) -> list[str]:
    """The examples of a page, but sessions and those that need results of before."""
    text = (ROOT / "docs" / "guides" / page).read_text()
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [code for code in found if ">>>" not in code and '"out/' not in code]


@pytest.mark.parametrize(("page", "least"), [("python.md", 3), ("python-algorithms.md", 2)])
def test_the_examples_of_a_page_run(page: str, least: int, monkeypatch, capsys) -> None:
    monkeypatch.chdir(ROOT)
    scope: dict[str, object] = {}
    code = blocks(page)
    assert len(code) >= least
    for block in code:
        exec(compile(block, page, "exec"), scope)
    if page == "python-algorithms.md":
        result = scope["result"]
        assert isinstance(result, l4s.Result)
        low, classic = result.summary["queues"]
        a, b = result.summary["groups"]
        said = [f"{a['rate_bps'] / 1e6:.1f} Mb/s", f"{low['delay_ms']['mean']:.2f} ms of queue"]
        said += [f"{b['rate_bps'] / 1e6:.1f} Mb/s with {classic['delay_ms']['mean']:.1f} ms"]
        text = " ".join((ROOT / "docs" / "guides" / page).read_text().split())
        assert all(words in text for words in said), said
    else:
        assert round(scope["result"].summary["queues"][0]["delay_ms"]["mean"], 2) == 0.66  # type: ignore[attr-defined]


def test_the_refusal_on_the_page_is_the_one_that_is_raised() -> None:
    page = (ROOT / "docs/guides/python.md").read_text()
    scenario = l4s.Scenario("one-against-one")
    with pytest.raises(l4s.ScenarioError) as refused:
        scenario.with_(**{"link.rat": "10mbit"})
    assert str(refused.value).strip() in page
