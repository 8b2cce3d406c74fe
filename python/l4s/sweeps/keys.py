"""Keys of runs in bulk: eight bytes each in an array, where people see sixteen digits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = "NDArray[np.uint64]"


def packed(digits: Sequence[str]) -> Keys:
    """Keys from their digits."""
    return np.frombuffer(bytes.fromhex("".join(digits)), ">u8").astype(np.uint64)


def digits(keys: Keys) -> list[str]:
    """The sixteen digits of each key."""
    return [f"{key:016x}" for key in keys.tolist()]


def name(keys: Keys) -> str:
    """The name of a partition of these runs: the same wherever and whenever they are run."""
    return hashlib.sha256(keys.astype(">u8").tobytes()).hexdigest()[:16]


class Places:
    """Where each of some keys stands, for many questions at once."""

    def __init__(self, keys: Keys) -> None:
        #: Of a key that stands twice, the first place counts.
        self._sorted, self._first = np.unique(keys, return_index=True)

    def __len__(self) -> int:
        """How many different keys."""
        return len(self._sorted)

    @property
    def firsts(self) -> NDArray[np.intp]:
        """The first place of each key, in the order of places."""
        return np.sort(self._first)

    def of(self, keys: Keys) -> NDArray[np.intp]:
        """The place of each of ``keys``, or -1."""
        if not len(self._sorted):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return np.where(self._sorted[at] == keys, self._first[at], -1)
