"""Reference results of programs, computed in NumPy, independently of MLIR's lowering."""
