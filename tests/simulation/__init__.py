"""A seeded simulation of the broker: the real machines in one thread, on a world that loses answers and processes.

The parts are kept apart: `surface` is the target and what it can truly do, `world` runs machines step by step and can
stop them between any two, `workload` decides what is asked for, `nemesis` what goes wrong, `history` is what happened,
and `checkers` judge the history and nothing else. `story` holds short scenarios for crashes at every step, `mutants`
the mistakes that the checkers must catch. `python -m tests.simulation.run --seeds 2000` runs it.
"""
