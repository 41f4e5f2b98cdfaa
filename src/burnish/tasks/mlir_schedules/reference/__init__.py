"""What a program must compute, in NumPy, independently of MLIR's lowering."""
