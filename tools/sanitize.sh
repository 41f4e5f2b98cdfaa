#!/bin/sh
# usage: tools/sanitize.sh PYTHON [ARGUMENTS OF PYTEST]
#
# Build the extension and the launcher with AddressSanitizer and UndefinedBehaviorSanitizer in build/sanitize, beside
# the usual build, and run tests with them: those of random input and of the launcher where none are named. Whatever
# the sanitizers find, in whichever process, is printed at the end, and the exit status is 1.
#
# LLVM itself is not instrumented, which rules out: what its containers and allocators annotate, new and delete of
# unlike kinds (each side inlines its own), and signals (that broken bitcode kills it is the sandbox's to answer). Tests
# that go without files of the system ("without") do not find the sanitizers there.
set -eu

cd "$(dirname "$0")/.."
python=$PWD/$1
shift
random="random or mutated or straight_line or jumps or outline or hoist or sink or unusual or kernels"
if [ $# = 0 ]; then
    set -- tests/tasks/llvm_passes tests/representations tests/cc/test_launcher.py \
        tests/cc/test_libraries.py -k "($random or launcher or libraries) and not without"
fi

build=$PWD/build/sanitize
PATH=$(dirname "$python"):$PATH
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE="$python" \
    -DBURNISH_SANITIZE=address,undefined >"$build.log" || { cat "$build.log" && exit 1; }
ninja -C "$build"

# burnish-cc is looked for beside the program that runs (not so in pytest-xdist's workers), and looks there for
# the rest itself.
mkdir -p "$build/bin"
for name in burnish clang clang++ ld.lld pytest; do
    ln -sf "$(dirname "$python")/$name" "$build/bin/$name"
done
for name in burnish-cc burnish-c++; do
    cp "$build/burnish-cc" "$build/bin/$name" # not a link: it goes by where it is
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
