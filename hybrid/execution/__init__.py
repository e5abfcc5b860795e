"""Running graphs: apply, plans and their memory, programs, the compiled form, the scheduler; contexts."""
