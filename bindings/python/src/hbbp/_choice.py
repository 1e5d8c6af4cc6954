"""Enumerations of the C ABI, whose values have names and may be given by name."""
import enum
from typing import Type, TypeVar, Union

AnyChoice = TypeVar('AnyChoice', bound='Choice')


class Choice(enum.IntEnum):
    """One of several values; it is printed and given as 'ebs-and-swbt' for EBS_AND_SWBT.

    A number of a newer library that this package does not know becomes a member as well.
    """

    @classmethod
    def _missing_(cls, value: object) -> 'Choice':
        if not isinstance(value, int):
            raise ValueError(f'{value!r} is not a number of {cls.__name__}')
        member = int.__new__(cls, value)
        member._name_ = f'UNKNOWN_{value}'
        member._value_ = value
        return member

    @classmethod
    def of(cls: Type[AnyChoice], value: Union[str, int]) -> AnyChoice:
        """Returns the member of a name or number: 'swbt', 'SWBT', Source.SWBT, 4."""
        if isinstance(value, str):
            wanted = value.upper().replace('-', '_')
            if wanted not in cls.__members__:
                names = ', '.join(repr(str(member)) for member in cls)
                raise ValueError(f'{value!r} is not a name of {cls.__name__}, which are {names}')
            return cls.__members__[wanted]
        return cls(value)

    def __str__(self) -> str:
        return self._name_.lower().replace('_', '-')

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)


class Flags(enum.IntFlag):
    """Any combination of several values."""
