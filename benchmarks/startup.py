"""What it costs to start: as ratios to importing pydantic alone, measured in turns in one go. Prints, asserts nothing.

    python benchmarks/startup.py [ROUNDS]

The aim: `import amends` at most 1.2, `amends --help` at most 4.
"""

import statistics
import subprocess
import sys
import time

PROGRAMS = {
    "python -c 'import pydantic.main'": ["-c", "import pydantic.main"],
    "python -c 'import amends'": ["-c", "import amends"],
    "amends --help": ["-c", "from amends.cli import main; main()", "--help"],
    "amends log (no settings)": ["-c", "from amends.cli import main; main()", "log"],
}
ROUNDS_MIN = 5


def seconds(arguments: list[str]) -> float:
    """Run the interpreter once and give the time that it took."""
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd="/"
    )
    return time.perf_counter() - begun


def main() -> None:
    """Measure in turns, so that a busy moment meets all alike, and print medians and ratios."""
    rounds = max(ROUNDS_MIN, int(sys.argv[1]) if len(sys.argv) > 1 else 9)
    taken: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for arguments in PROGRAMS.values():
        seconds(arguments)  # once for the disk's cache
    for _ in range(rounds):
        for name, arguments in PROGRAMS.items():
            taken[name].append(seconds(arguments))
    unit = statistics.median(next(iter(taken.values())))
    print(f"medians of {rounds} runs, in turns")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:<34} {median * 1000:7.0f} ms  {median / unit:5.2f} ×")


if __name__ == "__main__":
    main()
