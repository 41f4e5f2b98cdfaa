# make demo      optimize a real C project, fetched from the package index
# make test      run the tests                      (TESTS="-m slow" or TESTS=tests/core to choose)
# make check     lint, formatting, types, stub; as a commit hook: pre-commit install
# make sanitize  run tests with the native code under AddressSanitizer and UBSan    (TESTS=... to choose)
# make bench     measure what the documentation claims
# make slurm     start a SLURM on this machine, as root      (NODES=2 for two nodes; make slurm-stop ends it)
#
# Each command first updates .venv and build/ where necessary, and changes nothing else. It uses the first
# suitable Python of python3, python3.13, python3.12, python3.11; make PYTHON=... names another. With CI=true,
# as in .ci/run, C++ warnings are errors, and the tests fail if coverage is below the floor.

.DEFAULT_GOAL := help
.PHONY: help setup demo test check sanitize bench slurm slurm-stop stub clean
.DELETE_ON_ERROR:

python := .venv/bin/python
pip := $(python) -m pip --disable-pip-version-check
ready := .venv/ready
ready-dev := .venv/ready-dev
ready-peers := .venv/ready-peers
stub := src/burnish/_native.pyi
pool := $(wildcard src/burnish/tasks/tensors/thread_pool.*)
native := native/*.cpp native/*.h native/*/* $(pool)
write-stub = $(python) -m nanobind.stubgen --quiet --module burnish._native --output-file

# The build requirements, as in [build-system] of pyproject.toml; constraints.txt has their versions.
build-tools := pip scikit-build-core nanobind mlc-llvm-static mlc-llvm-static-extra-targets cmake ninja

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

setup: $(ready-dev)

# The build runs in .venv, not in pip's temporary environment: so LLVM's 250 MB of libraries are unpacked only
# once, and a changed source compiles in seconds. Only the first installation shows pip's progress.
$(ready): pyproject.toml constraints.txt CMakeLists.txt Makefile $(wildcard native/* native/*/*) $(pool)
	@found=$$(tools/require-system.sh $(PYTHON)) && \
	if ! $(python) -m pip --version >/dev/null 2>&1; then "$$found" -m venv --clear .venv; fi
	$(pip) install $(if $(wildcard $(ready)),--quiet) --constraint constraints.txt $(build-tools)
	$(pip) install $(if $(wildcard $(ready)),--quiet) --constraint constraints.txt \
	  --no-build-isolation $(if $(CI),--config-settings=cmake.define.BURNISH_WERROR=ON) --editable .
	@touch $@

# The packages that the tests, the checks and the benchmarks need in addition.
$(ready-dev): $(ready)
	$(pip) install $(if $(wildcard $(ready-dev)),--quiet) --constraint constraints.txt 'burnish[dev]'
	@touch $@

# The packages that benchmarks/nests.py and benchmarks/schedules.py compare burnish with.
peers := benchmarks/loop_nests/requirements.txt benchmarks/mlir_schedules/requirements.txt
$(ready-peers): $(ready-dev) $(peers)
	$(pip) install $(if $(wildcard $(ready-peers)),--quiet) --constraint constraints.txt \
	  $(addprefix --requirement ,$(peers))
	@touch $@

demo: $(ready)
	$(python) -m burnish.cli demo

# The least share of src's lines that the tests must run, in percent; only ever raise it.
floor := 93
coverage := build/coverage.json

test: $(ready-dev)
ifdef CI
	$(python) -m slipcover --immediate --json --out $(coverage) -m pytest --numprocesses logical --dist worksteal $(TESTS)
	@$(python) -m slipcover --merge $(coverage) --out $(coverage) --fail-under $(floor) || \
	  { echo 'coverage: the tests run fewer than $(floor) % of the lines of src'; exit 1; }
else
	$(python) -m pytest --numprocesses logical --dist worksteal $(TESTS)
endif

check: $(ready-dev)
	$(python) -m ruff check
	$(python) -m ruff format --check
	.venv/bin/clang-format --dry-run --Werror $(native)
	$(python) -m mypy
	@$(write-stub) build/_native.pyi
	diff -u $(stub) build/_native.pyi || { echo "$(stub) is not up to date: make stub"; exit 1; }

sanitize: $(ready-dev)
	tools/sanitize.sh $(python) $(TESTS)

bench: $(ready-dev) $(ready-peers)
	$(python) benchmarks/step.py
	$(python) benchmarks/baselines.py
	$(python) benchmarks/random_actions.py
	$(python) benchmarks/ships.py --cc burnish-cc --never-larger
	$(python) benchmarks/never_worse.py
	$(python) benchmarks/calls.py
	$(python) benchmarks/vector.py
	$(python) benchmarks/shards.py --check
	$(python) benchmarks/scaling.py --check
	$(python) benchmarks/memory.py
	$(python) benchmarks/corpus.py
	$(python) benchmarks/graphs.py
	$(python) benchmarks/noise.py
	$(python) benchmarks/kernels.py
	$(python) benchmarks/kernels.py --workloads
	$(python) benchmarks/validate.py run --out $$(mktemp -d)/validate.jsonl
	$(python) benchmarks/ships.py --cc "burnish cc --budget 3"
	$(python) benchmarks/nests.py
	$(python) benchmarks/loop_searches.py
	$(python) benchmarks/schedules.py --budget 60
	$(python) benchmarks/schedule_candidates.py
	$(python) benchmarks/back_end.py
	$(python) benchmarks/codegen.py gain --split test
	$(python) benchmarks/inlining_decisions.py
	$(python) benchmarks/inlining_searches.py
	$(python) benchmarks/inlining_linked.py
	$(python) benchmarks/whole_programs.py
	$(python) benchmarks/profiles.py
	$(python) benchmarks/wasm_modules.py

slurm:
	tools/slurm-here.sh start

slurm-stop:
	tools/slurm-here.sh stop

# The types of the extension, generated from the built extension; kept in git for type checkers.
stub: $(ready)
	$(write-stub) $(stub)

clean:
	rm -rf build .venv
