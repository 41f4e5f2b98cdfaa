"""Code that the two tasks on tensors share: loop_nests and mlir_schedules.

The tasks import these files, which import no task:

    arrays         alignment of arrays, and arguments that users pass
    c_interface    headers and names of C functions
    machine        the machine that code is generated for
    policy/        the cost model, the comparison model and the policy that uses one; all run without torch
    polynomials    exp and tanh as polynomials
    programs       programs from files, names of families, or text
    session        sessions whose objective is the time of a call; the check that a schedule is right
    threads        the setting for the number of threads; thread_pool.c, their code, in object files
    train/         measured schedules, the fits of both models to them, the training
"""
