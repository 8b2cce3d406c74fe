"""What an algorithm depends on: found, whatever its kind, or refused; and the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import l4s
from l4s.sweeps.depends import State, fingerprint

HEAD = """
import functools, sys, types
from dataclasses import dataclass, field
from enum import Enum
import numpy as np
import l4s
import helpers
from helpers import help_me, Base
"""
HELPERS = """
import l4s
GAIN = {K}

def help_me(x):
    return further(x)

def further(x):
    return x * GAIN

class Base(l4s.CongestionControl):
    gain = {K}
"""
# Of each kind what makes the algorithm MAKE depends on the number {K}.
KINDS = {
    "global": "K = {K}\nclass P(l4s.Aqm):\n def enqueue(self, p): return K\nMAKE = P",
    "global of a lambda": (
        "K = {K}\nclass P(l4s.Aqm):\n def __init__(self, k): self.k = k\nMAKE = lambda: P(K)"
    ),
    "class attribute": "class P(l4s.Aqm):\n k = {K}\nMAKE = P",
    "attribute set later": "class P(l4s.Aqm):\n k = 0\nP.k = {K}\nMAKE = P",
    "attribute of another class": (
        "class C: k = {K}\nclass P(l4s.Aqm):\n def enqueue(self, p): return C.k\nMAKE = P"
    ),
    "helper": (
        "def f(): return {K}\nclass P(l4s.Aqm):\n def enqueue(self, p): return f()\nMAKE = P"
    ),
    "helper of another module": "class P(l4s.Aqm):\n def tick(self, *a): help_me(1)\nMAKE = P",
    "name of a module": "class P(l4s.Aqm):\n def tick(self, *a): helpers.help_me(1)\nMAKE = P",
    "value of a module": "class P(l4s.Aqm):\n def tick(self, *a): helpers.GAIN\nMAKE = P",
    "module as a value": (
        "class P(l4s.Aqm):\n def tick(self, *a): getattr(helpers, 'GAIN')\nMAKE = P"
    ),
    "import in a method": (
        "class P(l4s.Aqm):\n def tick(self, *a):\n  from helpers import GAIN\nMAKE = P"
    ),
    "import of a module in a method": (
        "class P(l4s.Aqm):\n def tick(self, *a):\n  import helpers as h\n  h.GAIN\nMAKE = P"
    ),
    "value set in a module": (
        "helpers.GAIN = {K} + 10\nclass P(l4s.Aqm):\n def tick(self, *a): helpers.GAIN\nMAKE = P"
    ),
    "base class of another module": "class P(Base): pass\nMAKE = P",
    "base class": "class Q(l4s.Aqm):\n limit = {K}\nclass P(Q): pass\nMAKE = P",
    "default": "class P(l4s.Aqm):\n def __init__(self, k={K}): pass\nMAKE = P",
    "keyword default": "class P(l4s.Aqm):\n def __init__(self, *, k={K}): pass\nMAKE = P",
    "closure": (
        "def outer(k):\n class P(l4s.Aqm):\n  def enqueue(self, p): return k\n return P\n"
        "MAKE = outer({K})"
    ),
    "partial": "class P(l4s.Aqm): pass\nMAKE = functools.partial(P, {K})",
    "keyword of a partial": "class P(l4s.Aqm): pass\nMAKE = functools.partial(P, k={K})",
    "dict": "T = {{'k': {K}}}\nclass P(l4s.Aqm):\n def tick(self, *a): T['k']\nMAKE = P",
    "order of a dict": (
        "T = {{'a': 1, 'b': 2}} if {K} % 2 else {{'b': 2, 'a': 1}}\n"
        "class P(l4s.Aqm):\n def tick(self, *a): list(T)\nMAKE = P"
    ),
    "nested": "T = [({{{K}, 7}},)]\nclass P(l4s.Aqm):\n def tick(self, *a): T\nMAKE = P",
    "array": ("T = np.array([1.0, {K}])\nclass P(l4s.Aqm):\n def tick(self, *a): T[1]\nMAKE = P"),
    "scalar of NumPy": ("T = np.float64({K})\nclass P(l4s.Aqm):\n def tick(self, *a): T\nMAKE = P"),
    "instance": (
        "class C:\n def __init__(self): self.k = {K}\n"
        "C1 = C()\nclass P(l4s.Aqm):\n def tick(self, *a): C1.k\nMAKE = P"
    ),
    "slots": (
        "class C:\n __slots__ = ('k',)\n"
        "C1 = C()\nC1.k = {K}\nclass P(l4s.Aqm):\n def tick(self, *a): C1.k\nMAKE = P"
    ),
    "dataclass": (
        "@dataclass\nclass C:\n k: int = {K}\n l: list = field(default_factory=list)\n"
        "class P(l4s.Aqm):\n c = C()\nMAKE = P"
    ),
    "enum": (
        "class E(Enum):\n A = {K}\nclass P(l4s.Aqm):\n def tick(self, *a): E.A.value\nMAKE = P"
    ),
    "namespace": (
        "T = types.SimpleNamespace(k={K})\nclass P(l4s.Aqm):\n def tick(self, *a): T.k\nMAKE = P"
    ),
    "property": "class P(l4s.Aqm):\n @property\n def limit(self): return {K}\nMAKE = P",
    "static method": "class P(l4s.Aqm):\n @staticmethod\n def f(): return {K}\nMAKE = P",
    "cached helper": (
        "@functools.lru_cache\ndef f(): return {K}\n"
        "class P(l4s.Aqm):\n def tick(self, *a): f()\nMAKE = P"
    ),
    "decorated helper": (
        "def by(k):\n def d(f):\n  @functools.wraps(f)\n  def g(*a): return f(*a) * k\n  return g\n"
        " return d\n@by({K})\ndef f(): return 1\n"
        "class P(l4s.Aqm):\n def tick(self, *a): f()\nMAKE = P"
    ),
    "bound method": (
        "class C:\n def __init__(self, k): self.k = k\n def make(self): return P()\n"
        "class P(l4s.Aqm): pass\nMAKE = C({K}).make"
    ),
    "callable instance": (
        "class C:\n def __init__(self, k): self.k = k\n def __call__(self): return P()\n"
        "class P(l4s.Aqm): pass\nMAKE = C({K})"
    ),
    "metaclass": ("class M(type):\n k = {K}\nclass P(l4s.Aqm, metaclass=M): pass\nMAKE = P"),
    "nested function": (
        "K = {K}\nclass P(l4s.Aqm):\n def tick(self, *a):\n  return [(lambda: K)() for _ in 'a']\n"
        "MAKE = P"
    ),
    "code": "class P(l4s.Aqm):\n def tick(self, *a): return a {op} 1\nMAKE = P",
    "constant of code": "class P(l4s.Aqm):\n def tick(self, *a): return {K}\nMAKE = P",
    "seed of a generator": (
        "import random\nR = random.Random({K})\n"
        "class P(l4s.Aqm):\n def tick(self, *a): R.random()\nMAKE = P"
    ),
}
LAST = "\nfrom l4s.sweeps.depends import fingerprint\nprint(fingerprint(MAKE))\n"


def written(folder: Path, kind: str, number: int) -> Path:
    """A script of that kind, and its helpers."""
    folder.mkdir(exist_ok=True)
    (folder / "helpers.py").write_text(HELPERS.format(K=number))
    body = KINDS[kind].format(K=number, op="+" if number == 1 else "-")
    (folder / "script.py").write_text(HEAD + body + LAST)
    return folder


def told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its fingerprint, of modules that are read anew."""
    monkeypatch.syspath_prepend(str(folder))
    for name in ("helpers", "script"):
        sys.modules.pop(name, None)
    source = (folder / "script.py").read_text().replace(LAST, "")
    scope = {"__name__": "script"}
    sys.modules["script"] = module = type(sys)("script")
    module.__dict__.update(scope)
    exec(compile(source, str(folder / "script.py"), "exec"), module.__dict__)
    try:
        return fingerprint(module.MAKE)
    finally:
        for name in ("helpers", "script"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_what_it_depends_on_is_seen(kind, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    one = written(tmp_path / "one", kind, 1)
    first, again = told(one, monkeypatch), told(one, monkeypatch)
    other = told(written(tmp_path / "two", kind, 2), monkeypatch)
    assert first == again != other


def test_it_is_the_same_in_every_process(tmp_path) -> None:
    """Whatever the order of sets, and whether modules are compiled or read."""
    body = "".join(
        f"\nT{n} = {{'a', 'b', 'c', 'd', ('e', {n}), frozenset('xyz'), int, help_me}}"
        for n in range(3)
    )
    code = body + textwrap.dedent("""
        N = {"t": T0, "deep": [T1, {"x": T2}]}
        class C(set): pass
        D = C("abcdef")
        import collections, logging, pathlib, re
        L = [logging.getLogger("x"), pathlib.Path("y"), re.compile("z+"), collections.deque("ab")]
        class P(l4s.Aqm):
            marks = frozenset("lmnop")
            def tick(self, *a):
                return "q" in {"q", "r", "s", "t"} and N and D and L and np.float64(0.1)
        P.itself = P
        P.both = {P}
        MAKE = P
        """)
    (tmp_path / "helpers.py").write_text(HELPERS.format(K=1))
    (tmp_path / "script.py").write_text(HEAD + code + LAST)
    seen = set()
    for seed in ("0", "1", "2", "3"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        ran = subprocess.run(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(ran.stdout)
    assert len(seen) == 1 and len(seen.pop()) == 17


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def enqueue(self, p): return open('x').read()", "P → enqueue → open: `open` gives"),
        ("def enqueue(self, p): return eval('k')", "`eval` gives"),
        ("def enqueue(self, p): return globals()['k']", "`globals` gives"),
        ("def enqueue(self, p): return os.environ['k']", "os → environ: `environ` gives"),
        ("def enqueue(self, p): return os.getenv('k')", "`getenv` gives"),
        ("def enqueue(self, p): return ENVIRON['k']", "the environment of a process"),
        ("def enqueue(self, p): return LOCK", "P → enqueue → LOCK: .*lock.* has no value"),
        ("made = (n for n in range(3))", "P → made: .*generator.* has no value"),
    ],
)
def test_what_cannot_be_seen_is_refused(body: str, words: str) -> None:
    scope: dict[str, object] = {}
    head = "import os, threading, l4s\nLOCK, ENVIRON = threading.Lock(), os.environ\n"
    exec(f"{head}class P(l4s.Aqm):\n {body}", scope)
    with pytest.raises(l4s.SweepError, match=words) as refused:
        fingerprint(scope["P"], "aqm")  # type: ignore[arg-type]
    assert str(refused.value).startswith("aqm: ") and "hand it a plain value" in str(refused.value)


def test_comments_and_places_are_of_no_account() -> None:
    one, two = {"l4s": l4s}, {"l4s": l4s}
    exec("class P(l4s.Aqm):\n def tick(self, *a): return 1", one)
    exec("# a word\n\nclass P(l4s.Aqm):\n '''More.'''\n # more\n def tick(self, *a): return 1", two)
    assert fingerprint(one["P"]) == fingerprint(two["P"])  # type: ignore[arg-type]


def test_a_docstring_is_of_no_account_and_a_text_is() -> None:
    """Also of a nested function; that of a lambda is no docstring."""
    body = "class P(l4s.Aqm):\n def tick(self, *a):\n  '{}'\n  def f(): '{}'\n  return {!r}\n"
    other = "class P(l4s.Aqm): tick = lambda *a: {!r}"

    def its(text: str, *parts: str) -> str:
        scope: dict[str, object] = {"l4s": l4s}
        exec(text.format(*parts), scope)
        return fingerprint(scope["P"])  # type: ignore[arg-type]

    assert its(body, "One.", "Two.", "x") == its(body, "Three.", "Four.", "x")
    assert its(body, "One.", "Two.", "x") != its(body, "One.", "Two.", "y")
    assert its(other, "x") != its(other, "y")


def test_the_first_value_that_a_run_changed_is_named() -> None:
    shared: dict[str, list[int]] = {"k": [1]}
    scope: dict[str, Any] = {"l4s": l4s, "T": shared}
    exec("class P(l4s.Aqm):\n m = {1}\n def tick(self, *a): return T", scope)
    state = State({"aqm": scope["P"]})
    state.check()
    shared["k"].append(2)
    with pytest.raises(l4s.SweepError, match=r"aqm: P → tick → T → \['k'\] has changed"):
        state.check()
    shared["k"].pop()
    state.check()
    scope["P"].m.add(2)
    with pytest.raises(l4s.SweepError, match="aqm: P → m has changed"):
        state.check()


def test_the_classes_of_the_package_itself() -> None:
    assert fingerprint(l4s.Aqm) != fingerprint(l4s.CongestionControl)
