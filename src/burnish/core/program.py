"""What is optimized."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Program:
    """One program: an LLVM module, a loop nest, a linalg module.

    Its identity is the digest of its content; the name is for people.
    """

    name: str
    language: str  # what the content is written in, such as "llvm"; a task opens one language
    content: bytes = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits of BLAKE2b over language and content."""
        text = self.language.encode() + b"\0" + self.content
        return hashlib.blake2b(text, digest_size=16).hexdigest()
