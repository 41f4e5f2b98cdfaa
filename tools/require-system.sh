#!/bin/sh
# usage: tools/require-system.sh [PYTHON]
#
# Print the Python to build burnish with. If the system lacks parts, print each of them and the command that installs
# all of them to standard error instead, and exit with 1. The script changes nothing.
set -eu

needs=""    # one line for each missing part
packages="" # the packages' names on Debian and Ubuntu

lack() {
    needs="$needs
  $1"
    packages="$packages $2"
}

supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    for candidate in "$@"; do
        if supported "$candidate"; then
            echo "$candidate"
            return
        fi
    done
}

find_compiler() {
    for candidate in ${CXX:+"$CXX"} c++ g++ clang++; do # the beginning of CMake's own search order
        if command -v "${candidate%% *}" >/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

# Compile standard input; $compiler may contain options.
compiles() {
    $compiler -std=c++20 -x c++ - "$@" -o "$scratch/out" 2>/dev/null
}

require_python() {
    if [ $# -gt 0 ]; then
        python=$(find_python "$@")
    else
        python=$(find_python python3 python3.13 python3.12 python3.11)
    fi
    if [ -z "$python" ]; then
        if [ $# -gt 0 ]; then what=" (PYTHON=$1 is none of them)"; else what=""; fi
        if command -v python3 >/dev/null; then name=python3.11; else name=python3; fi
        lack "Python 3.11, 3.12 or 3.13$what" "$name $name-venv $name-dev"
        return
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        lack "Python's venv module, for $python" "python$version-venv"
    "$python" -c 'import pathlib, sysconfig; (pathlib.Path(sysconfig.get_path("include")) / "Python.h").stat()' \
        2>/dev/null || lack "Python's headers (Python.h), for $python" "python$version-dev"
}

require_compiler() {
    compiler=$(find_compiler)
    if [ -z "$compiler" ]; then
        lack "a C++ compiler" "g++"
    elif ! echo '#include <stdio.h>' | compiles -c; then
        lack "the C library's headers (stdio.h)" "libc6-dev"
    elif ! printf '#include <concepts>\n#include <vector>\n' | compiles -c; then
        lack "a compiler and library for C++20: g++ 10 or newer ($compiler is neither)" "g++"
    elif ! echo 'int main() {}' | compiles; then
        lack "what links a program: the linker, the C library's start files (crt1.o)" "binutils libc6-dev"
    fi
}

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "burnish builds on Linux on x86-64; this is $(uname -sm)" >&2
    exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
require_python "$@"
require_compiler
if [ -n "$needs" ]; then
    echo "burnish cannot be built yet; this system lacks:$needs" >&2
    if command -v apt-get >/dev/null; then
        echo "install with: apt-get install$packages" >&2
    else
        echo "install with your package manager (on Debian and Ubuntu:$packages)" >&2
    fi
    exit 1
fi
echo "$python"
