"""Processes that write files are killed at random moments; what was there before, or what was to come, is whole afterwards.

python -m tests.kills                        1,000 kills for each writer
python -m tests.kills --count 50 --only nd.save
"""
