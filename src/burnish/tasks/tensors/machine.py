"""The machine that code of tensors is generated for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from burnish import _native
from burnish.core.errors import UnknownName


@dataclass(frozen=True)
class Machine:
    """The machine that code is generated for, by LLVM's names of CPU and features."""

    cpu: str
    features: str
    threads: int = 1  # that parallel loops may use

    @property
    def vector_bytes(self) -> int:
        """The size of a vector in bytes."""
        known = set(self.features.split(","))
        return 64 if "+avx512f" in known else 32 if "+avx2" in known else 16

    def runs(self, other: Machine) -> bool:
        """Return whether this machine has all features that code for another one may use."""
        used = {name for name in other.features.split(",") if name.startswith("+")}
        return not {f"-{name[1:]}" for name in used} & set(self.features.split(","))

    @property
    def native(self) -> _native.Machine:
        """The machine as an object of the native extension."""
        return _native.Machine(self.cpu, self.features)


def machine_of(cpu: str) -> Machine:
    """Return the machine of a CPU by LLVM's name, such as "x86-64-v3" or "skylake".

    Raises:
        UnknownName: LLVM has no CPU of this name.
    """
    try:
        found = _native.machine_of(cpu)
    except _native.InputError as error:
        raise UnknownName(str(error)) from None
    return Machine(found.cpu, found.features)


@cache
def host() -> Machine:
    """Return the machine that this process runs on."""
    found = _native.host_machine()
    return Machine(found.cpu, found.features)
