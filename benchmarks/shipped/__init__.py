"""Whole third-party projects, built and linked as they are shipped; ships.py and others measure them.

projects.toml  Debian's projects: builds, runs and their own tests
inputs/        scripts that the programs run
texts          generated inputs
projects       a project, with its fetched sources
debian         upstream's sources, as Debian has them
compilers      the compared compilers, which are the tables' columns
building       a project built by a compiler: linked, stripped programs
inlined        a project's modules before the passes, and their objects for given inlining answers
running        outputs, CPU time, test suites
rows           one project by one compiler, compared with clang -Oz: a line of JSON
tables         the printed tables
"""
