"""Export of a policy of evictions as a C header, for compilers and tools without burnish."""

from __future__ import annotations

from burnish.policies.arrays import ArraysPolicy
from burnish.policies.c_network import c_name, c_network
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, EVICTION_FEATURES, SLOTS
from burnish.tasks.llvm_codegen.policy.scorer import INPUTS, EvictionScorer

TEXT = """\
/* Choose the live range that the register allocator evicts, by a policy of burnish. Needs math.h (-lm).

   int {name}_evict(const float row[{row}], int llvms);

   returns the best slot among those that the mask allows, or -1 if it allows none. The last slot is the live
   range that needs a register. The row has {slots} values of each feature in {name}_features (MLGO's,
   llvm/lib/CodeGen/MLRegAllocEvictAdvisor.cpp), but one of the last. `llvms` is the slot that LLVM's
   heuristic takes{unused}. */
#ifndef {guard}
#define {guard}

#include <float.h>

{network}
static const char *const {name}_features[{features}] = {{
{names}
}};

/* Compute the score of a slot. */
static inline float {name}_score(const float row[{row}], int slot, int llvms) {{
  float x[{inputs}], score;
  for (int i = 1; i < {of_slot}; ++i) {{
    x[i - 1] = row[i * {slots} + slot];
    x[{of_slot} - 2 + i] = row[i * {slots} + {slots} - 1];
  }}
  x[{inputs} - 4] = row[{row} - 1];
  x[{inputs} - 3] = (float)slot / {last}.0f;
  x[{inputs} - 2] = slot == {last};
  x[{inputs} - 1] = slot == llvms;
  for (int i = 0; i < {inputs}; ++i)
    x[i] = isnan(x[i]) ? 0 : x[i] > 1e6f ? 1e6f : x[i] < -1e6f ? -1e6f : x[i];
  {name}_evaluate(x, &score);
  return isnan(score) || score < -FLT_MAX ? -FLT_MAX : score;
}}

static inline int {name}_evict(const float row[{row}], int llvms) {{
  int best = -1;
  float most = 0;
  for (int slot = 0; slot < {slots}; ++slot)
    if (row[slot] != 0) {{
      float score = {name}_score(row, slot, llvms);
      if (best < 0 || score > most) {{
        best = slot;
        most = score;
      }}
    }}
  return best;
}}

#endif
"""


def c_header(policy: ArraysPolicy, name: str) -> str:
    """Return a header with a function `{name}_evict`, whose choices equal the native core's.

    Raises:
        InputError: the policy is not one of evictions, or `name` is not valid in C.
    """
    scorer = EvictionScorer(policy)
    return TEXT.format(
        name=c_name(name),
        guard=f"{name.upper()}_EVICT_H",
        row=len(EVICTION_COLUMNS),
        slots=SLOTS,
        last=SLOTS - 1,
        unused="" if scorer.sees_llvms else "; this policy does not use it",
        network=c_network(scorer.of_all_inputs, name),
        features=len(EVICTION_FEATURES),
        names="\n".join(f'    "{feature}",' for feature in EVICTION_FEATURES),
        inputs=len(INPUTS),
        of_slot=len(EVICTION_FEATURES) - 1,
    )
