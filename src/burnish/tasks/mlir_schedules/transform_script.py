"""Lines of the transform dialect, with unique names of values and helpers for common ops."""

from __future__ import annotations

from burnish.tasks.mlir_schedules.payload import ANY, annotation

CLEANING = (
    "canonicalization",
    "linalg.tiling_canonicalization",
    "scf.for_loop_canonicalization",
    "tensor.merge_consecutive_insert_extract_slice",
)


class Script:
    """Lines of a named sequence in which each value has a unique name."""

    def __init__(self, step: int | str) -> None:
        self.step = step  # distinguishes the values of different steps
        self.lines: list[str] = []
        self._count = 0

    def __str__(self) -> str:
        return "".join(f"    {line}\n" for line in self.lines)

    def new(self, stem: str) -> str:
        """Return the name of a new value."""
        self._count += 1
        return f"%{stem}_{self.step}_{self._count}"

    def add(self, line: str) -> None:
        """Append a line."""
        self.lines.append(line)

    def find(self, key: str, value: str) -> str:
        """Match the ops whose attribute `key` is `value`; return the handle."""
        handle = self.new("op")
        self.add(
            f'{handle} = transform.structured.match attributes{{{key} = "{value}"}} '
            f"in %module : ({ANY}) -> {ANY}"
        )
        return handle

    def find_all(self, kind: str) -> str:
        """Match all ops of a kind, such as 'scf.for'; return the handle."""
        handle = self.new("all")
        self.add(f'{handle} = transform.structured.match ops{{["{kind}"]}} in %module : ({ANY}) -> {ANY}')
        return handle

    def annotate(self, handle: str, key: str, value: str) -> None:
        """Give an op an attribute."""
        text = annotation(handle, key, value, self.new("name"))
        self.lines += [line.strip() for line in text.splitlines()]

    def split_handle(self, handle: str, count: int) -> list[str]:
        """Return a handle for each of several ops."""
        if count == 1:
            return [handle]
        parts = [self.new("part") for _ in range(count)]
        types = ", ".join([ANY] * count)
        self.add(f"{', '.join(parts)} = transform.split_handle {handle} : ({ANY}) -> ({types})")
        return parts

    def producer(self, handle: str, operand: int, kind: str = ANY, *, of: str = ANY) -> str:
        """Return a handle of the op that makes an operand."""
        made = self.new("made")
        self.add(f"{made} = transform.get_producer_of_operand {handle}[{operand}] : ({of}) -> {kind}")
        return made

    def cast(self, handle: str, kind: str) -> str:
        """Return a handle of any kind of op for a handle of one kind."""
        plain = self.new("plain")
        self.add(f"{plain} = transform.cast {handle} : {kind} to {ANY}")
        return plain

    def patterns(self, *names: str, within: str = "") -> None:
        """Apply rewrite patterns to the function, or only within one of its ops."""
        self.add(f"transform.apply_patterns to {within or self.find_all('func.func')} {{")
        self.lines += [f"  transform.apply_patterns.{name}" for name in names]
        self.add(f"}} : {ANY}")

    def clean(self, within: str = "") -> None:
        """Simplify nested slices, duplicated constants and unused ops; see `patterns`."""
        self.patterns(*CLEANING, within=within)
        self.add(f"transform.apply_cse to {within or self.find_all('func.func')} : {ANY}")
