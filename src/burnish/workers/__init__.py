"""Worker processes, which may crash, hang or exhaust memory, and the code that runs in them."""
