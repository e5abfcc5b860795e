"""Differences of two models without running them, and the smallest model that shows one."""
