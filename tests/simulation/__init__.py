"""A seeded simulation of the broker: the real machines in one thread, on a world that loses answers and processes.

The parts are kept apart: `surface` is the target and what it can truly do, `keeping` the journal, in memory or on
disk, `world` runs machines step by step and can stop them between any two, `workload` decides what is asked for,
`nemesis` what goes wrong, `history` is what happened, and `checkers` and `bounds` judge the history and nothing else.
`story` holds short scenarios for crashes at every step, `mutants` the mistakes that must be caught and `hunt` who
catches them. `make sim SEEDS=2000` runs it, `python -m tests.simulation.shrink SEED` tells a failing seed as a short
story, and `make mutants` hunts.
"""
