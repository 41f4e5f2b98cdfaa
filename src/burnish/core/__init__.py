"""The contract: program, session, sandbox, objective, task, environment, result, errors."""
