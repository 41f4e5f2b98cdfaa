"""A project's modules before any pass, and their objects for given inlining answers.

A module is one file, or all files of a program as lld resolves them. clang generates the objects from
bitcode, with the options with which it compiles the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from burnish.cc import processes
from burnish.cc.jobs import ClangJob, ClangJobs, make_plan
from burnish.cc.link.link_job import LinkJob, link_job_of
from burnish.cc.link.merging import pattern, resolve
from burnish.cc.link.units import ProgramUnit
from burnish.cc.linked import Linked, read_linked
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.session import InliningSession
from shipped.building import Built, object_name
from shipped.compilers import Compiler
from shipped.projects import Project

DEADLINE_SECONDS = 600.0  # for each clang process


@dataclass(frozen=True)
class Part:
    """A module that is compiled to one object."""

    program: Program  # the module
    pattern: ClangJob = field(repr=False)  # the job whose options generate its code
    objects: tuple[str, ...]  # the names of the build's objects that the object replaces

    def write(self, answers: Trace, path: Path) -> int:
        """Write the object for some answers; return the number of calls that LLVM asks about."""
        session = TASK.open(self.program)
        assert isinstance(session, InliningSession)
        session.replay(answers)
        compiled = session.compiled()
        bitcode = path.with_suffix(".bc")
        bitcode.write_bytes(compiled.state.module.bitcode())
        command = self.pattern.silenced().code_generation(bitcode, path).command
        processes.run_quietly(command, DEADLINE_SECONDS)
        return len(compiled.places)


@dataclass(frozen=True)
class Inlined:
    """A program of a project, its parts, and the build whose objects they replace."""

    project: Project
    name: str
    compiler: Compiler
    built: Built
    folder: Path

    @property
    def sources(self) -> tuple[Path, ...]:
        """The sources of the program's objects, in the linker's order."""
        return (*self.project.programs[self.name], *self.project.sources)

    def files(self) -> list[Part]:
        """Return each file as a part."""
        return [self._part(source) for source in self.sources]

    def whole(self) -> Part:
        """Return all files as one part, in which only the symbols needed outside are visible."""
        files = self.files()
        units = [ProgramUnit(part.program.content, part.pattern.command, 1.0, "") for part in files]
        job, folder = self._link_job(), self.folder / "whole"
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        paths = {self._object(name): name for part in files for name in part.objects}
        words: dict[int, tuple[Path, ...]] = {i: () for i, word in enumerate(job.command) if word in paths}
        module = resolve(job, words, units, folder, DEADLINE_SECONDS)
        program = Program(self.name, TASK.language, module)
        return Part(program, pattern(units, is_shared=False), tuple(paths.values()))

    def link(self, objects: Mapping[Part, Path], output: Path) -> Linked:
        """Link the program with other objects, and return its sizes."""
        others = {self._object(name): path for part, path in objects.items() for name in part.objects}
        words: dict[int, tuple[Path, ...]] = {}
        given: set[Path] = set()
        for i, word in enumerate((job := self._link_job()).command):
            if path := others.get(word):
                words[i] = () if path in given else (path,)
                given.add(path)
        output.parent.mkdir(parents=True, exist_ok=True)
        job.changed(words, output).run(DEADLINE_SECONDS)
        return read_linked(output)

    def _part(self, source: Path) -> Part:
        name = object_name(source, self.project.root)
        options = [*self.compiler.compile_flags(self.project.language, tables=True), *self.project.flags]
        job = self._plan([*options, "-c", str(source), "-o", self._object(name)]).compilations[0].silenced()
        path = self.folder / "modules" / f"{name}.bc"
        path.parent.mkdir(parents=True, exist_ok=True)
        processes.run_quietly(job.front_end(path).command, DEADLINE_SECONDS)
        return Part(Program(f"{self.project.name}/{name}", TASK.language, path.read_bytes()), job, (name,))

    def _link_job(self) -> LinkJob:
        options = self.compiler.link_flags(self.project.language)
        linked = [self._object(object_name(source, self.project.root)) for source in self.sources]
        words = [*options, "-o", self.built.programs[self.name], *linked, *self.project.libraries]
        job = link_job_of(self._plan(words).jobs)
        assert job, "a plan of a link has a linker's job"
        return job

    def _plan(self, words: Sequence[str]) -> ClangJobs:
        command = self.compiler.driver(self.project.language)
        plan = make_plan(Path(command[0]), [*command[1:], *words], self.built.folder)
        if not plan:
            raise InputError(f"{self.project.name}: clang does not say what it runs: {' '.join(words)}")
        return plan

    def _object(self, name: str) -> str:
        return str(self.built.folder / "objects" / name)
