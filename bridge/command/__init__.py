"""The commands of ``gluonnx``. No logic: arguments to functions of this package, results to report, errors to exit statuses."""
