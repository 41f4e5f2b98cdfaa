"""What was trained, in use: numpy or onnxruntime, and no torch."""
