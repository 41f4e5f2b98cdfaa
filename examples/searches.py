"""Several searches with the same budget, on one file and for one objective."""

from pathlib import Path

from burnish import Budget, Problem, load_program, load_task
from burnish.search import search

program = load_program(Path(__file__).with_name("hot.c"))
problem = Problem(load_task("llvm_passes"), program, objective="ir-instructions")
budget = Budget(evaluations=100)
for method in ("random", "greedy", "hill-climbing", "genetic", "sitewise"):
    result = search(problem, budget, method=method, seed=1)
    print(f"{method:14} {result.cost:4.0f} instructions: {' '.join(result.trace)}")
