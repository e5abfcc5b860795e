"""Many models at once: lists, child processes, workers."""
