"""Running graphs: one operator (apply), plans and memory (plan, memory_planner), programs, the compiled form (lower), the scheduler."""
