"""Whole projects that others wrote, built and linked as they are shipped: what ships.py measures.

projects.toml  Debian's: how each is built, what it is run on, its own tests
inputs/        the scripts that they are run on
texts          generated inputs
projects       a project, and where its sources come from
debian         upstream's sources, as Debian has them
compilers      the columns
building       a project by a compiler: linked, stripped programs
running        outputs, user time, test suites
rows           one project by one compiler beside clang -Oz: a line of JSON
tables         what is printed
"""
