#!/bin/sh
# usage: tools/sanitize.sh PYTHON [ARGUMENTS OF PYTEST]
#
# Build the extension and the launcher with AddressSanitizer and UndefinedBehaviorSanitizer in build/sanitize, next to
# the usual build, and run tests with them; by default the tests of random input and of the launcher. All findings of
# the sanitizers, in any process, are printed at the end, and the exit status is then 1.
#
# LLVM itself is not instrumented. So these checks are off: annotations of LLVM's containers and allocators, mismatches
# of new and delete (each side inlines its own), and signals (if broken bitcode kills LLVM, the sandbox handles that).
# Tests that hide files of the system ("without") are left out, because they would not find the sanitizers.
set -eu

cd "$(dirname "$0")/.."
python=$PWD/$1
shift
random="random or mutated or straight_line or jumps or outline or hoist or sink or unusual or kernels"
if [ $# = 0 ]; then
    set -- tests/tasks/llvm_passes tests/llvm/representations tests/cc/test_launcher.py \
        tests/cc/test_libraries.py -k "($random or launcher or libraries) and not without"
fi

build=$PWD/build/sanitize
PATH=$(dirname "$python"):$PATH
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE="$python" \
    -DBURNISH_SANITIZE=address,undefined >"$build.log" || { cat "$build.log" && exit 1; }
ninja -C "$build"

# The tests look for burnish-cc next to the running program (except in pytest-xdist's workers), and burnish-cc looks
# there for the other programs.
mkdir -p "$build/bin"
for name in burnish clang clang++ ld.lld pytest; do
    ln -sf "$(dirname "$python")/$name" "$build/bin/$name"
done
for name in burnish-cc burnish-c++ burnish-rustc; do
    cp "$build/burnish-cc" "$build/bin/$name" # not a link, because it uses its own location
done

reports=$build/reports
rm -rf "$reports"
mkdir -p "$reports"
status=0
options=detect_leaks=0:allocator_may_return_null=1:detect_container_overflow=0:allow_user_poisoning=0
options=$options:new_delete_type_mismatch=0:alloc_dealloc_mismatch=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0
env PYTHONPATH="$PWD/tools/sanitized" \
    LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS="$options:log_path=$reports/address" \
    UBSAN_OPTIONS="print_stacktrace=1:log_path=$reports/undefined" \
    "$python" "$build/bin/pytest" "$@" || status=$?

for report in "$reports"/*; do
    if [ -e "$report" ]; then
        cat "$report"
        status=1
    fi
done
exit $status
