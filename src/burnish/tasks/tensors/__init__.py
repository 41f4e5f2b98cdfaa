"""What the tasks on tensors share, loop_nests and mlir_schedules; it imports neither.

arrays         where arrays begin, and arguments that users pass
c_interface    the types and names of arguments of C functions
machine        the machine that code is generated for
objectives     the time of a call
outputs        the check that a schedule is right
policy/        the cost model, in use without torch
polynomials    of exp and tanh
train/         measured schedules, the fit of a cost model to them, the training
"""
