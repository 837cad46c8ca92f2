"""nwx.data_classes, compared with the standard decorator."""

import copy
import dataclasses
import inspect
import pickle
from typing import Any, ClassVar

import pytest

from nwx import data_classes


class Fields:
    """Some fields."""

    a: int
    b: str = "b"
    c: list[int] = dataclasses.field(default_factory=list, compare=False)
    d: object = dataclasses.field(default=None, repr=False)


class Checked:
    a: int = 1

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("negative")

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class Odd:
    a: ClassVar[int] = 1
    b: dataclasses.InitVar[int] = 2
    c: int = dataclasses.field(default=3, init=False)

    def __post_init__(self, b: int) -> None:
        object.__setattr__(self, "c", b)


def both(given: type[Any]) -> list[Any]:
    """Return a class made by each decorator."""
    made = []
    for module in (dataclasses, data_classes):
        copied = type(given.__name__, (), {k: v for k, v in vars(given).items() if k[:3] != "__d"})
        copied.__qualname__ = given.__qualname__
        made.append(module.dataclass(frozen=True, slots=True)(copied))
    return made


@pytest.mark.parametrize("given", [Fields, Checked, Odd])
@pytest.mark.parametrize("values", [(), (1,), (-1,), (1, "x"), (1, "x", [2], 3), (1, 2, 3, 4, 5)])
def test_classes_are_those_of_the_standard_library(given: type[Any], values: tuple[Any]) -> None:
    told = []
    for cls in both(given):
        try:
            one = cls(*values)
        except (TypeError, ValueError) as error:
            told.append([type(error)])
            continue
        assert copy.deepcopy(one) == one
        for change in (setattr, lambda *given: delattr(*given[:2])):
            with pytest.raises(dataclasses.FrozenInstanceError):
                change(one, dataclasses.fields(cls)[0].name, 1)
        same = cls(*values)
        shown = [repr(one), dataclasses.asdict(one), list(inspect.signature(cls).parameters)]
        equal = [one == same, hash(one) == hash(same), one == values]
        told.append([*shown, *equal, dir(cls), cls.__match_args__, cls.__slots__])
    assert told[0] == told[1]


@data_classes.dataclass(frozen=True, slots=True)
class Pickled:
    """A class importable by name."""

    a: int = 1
    b: tuple[int, ...] = ()


def test_pickles_and_subclasses() -> None:
    one = Pickled(2, (3,))
    assert pickle.loads(pickle.dumps(one)) == one != Pickled()

    @data_classes.dataclass(frozen=True, slots=True)
    class Wider(Pickled):
        c: int = 0

    assert repr(Wider(1, (), 2)).endswith("Wider(a=1, b=(), c=2)")
    assert Wider(1) != Pickled(1)
