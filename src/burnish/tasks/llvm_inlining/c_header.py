"""Export of a policy as a C header: weights and one function, for compilers and tools without burnish."""

from __future__ import annotations

from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy
from burnish.policies.c_network import c_name, c_network
from burnish.policies.choose import ActionPolicy
from burnish.policies.columns import columns_of
from burnish.tasks.llvm_inlining.networks import is_perceptron
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.policy.features_alone import on_features_alone

TEXT = """\
/* Decide whether to inline a call, by a policy of burnish. Needs math.h of the C library (-lm).

   int {name}_inline(const int64_t features[{count}]);

   returns 1 to inline, 0 to leave the call, and 0 if an output is not a number. The features are LLVM's
   (llvm/Analysis/InlineModelFeatureMaps.h), in the order of {name}_features. */
#ifndef {guard}
#define {guard}

{network}
static const char *const {name}_features[{count}] = {{
{features}
}};

static inline int {name}_inline(const int64_t features[{count}]) {{
  float x[{count}], logits[2];
  for (size_t i = 0; i < {count}; ++i)
    x[i] = (float)features[i];
  {name}_evaluate(x, logits);
  if (isnan(logits[0]) || !(logits[1] > logits[0]))
    return 0;
  return !isinf(logits[1]);
}}

#endif
"""


def c_header(policy: ActionPolicy, name: str) -> str:
    """Return a header with a function `{name}_inline`, whose answers equal the native core's.

    Raises:
        InputError: the policy is not a perceptron on LLVM's features, or `name` is not valid in C.
    """
    c_name(name)
    policy = on_features_alone(policy)
    names = columns_of(policy) or FEATURES
    if not isinstance(policy, ArraysPolicy) or not is_perceptron(policy, len(names)):
        raise InputError(
            "a C header needs a perceptron on LLVM's features that answers leave or inline; export "
            "this policy to ONNX"
        )
    return TEXT.format(
        name=name,
        guard=f"{name.upper()}_INLINE_H",
        count=len(names),
        network=c_network(policy, name),
        features="\n".join(f'    "{feature}",' for feature in names),
    )
