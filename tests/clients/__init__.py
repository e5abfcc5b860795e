"""Programs that nobody here wrote, on this engine and on real MXNet: their modules, their own tests and one job each."""
