"""What all C functions of tensors have in common: the types and names of arguments."""

from __future__ import annotations

C_TYPES = {"f32": "float", "f64": "double"}
C_WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while alignas alignof bool constexpr false nullptr static_assert thread_local true typeof class delete new
    operator private protected public template this throw try using virtual namespace and or not xor
    main scratch
    """.split()
)
"""Names that arguments and functions cannot have: keywords of C and C++, `main`, and the last argument."""
