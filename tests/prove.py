"""Make targets one after the other, report each, and go on after a failure: `prove.py sanitize fuzz`."""

import subprocess
import sys
import time


def main(targets: list[str]) -> int:
    """Make every target; 1 if any failed."""
    results = []
    for target in targets:
        started = time.monotonic()
        passed = subprocess.run(["make", target], check=False).returncode == 0
        results.append((target, passed, (time.monotonic() - started) / 60))
    print(f"\n{'proof':<20}{'result':<10}{'minutes':>7}")
    for target, passed, minutes in results:
        print(f"{target:<20}{'passed' if passed else 'FAILED':<10}{minutes:>7.1f}")
    return 0 if all(passed for _, passed, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
