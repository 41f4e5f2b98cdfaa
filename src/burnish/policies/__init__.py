"""Running trained policies with numpy or onnxruntime, without torch."""
