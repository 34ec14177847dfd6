"""The steps of paths in trees."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self):
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    key: int

    def __hash__(self):  # no SequenceKey's of the same number
        return hash(("flat index", self.key))

    def __str__(self):
        return f"[<flat index {self.key}>]"
