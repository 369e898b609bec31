"""How long each parser takes over hostile texts, from 64 KiB up: what takes more than its share as bytes double.

    python -m benchmarks.parsing --sizes 65536 262144

Keys that stand twice, deep nesting, long digits and exponents, texts that are dear for regular expressions, and all of
them in every member of every format. Exits with 1 if seconds grow with more than the power 1.5 of the bytes.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
import warnings

from tests.hostile.parsers import inputs, parsers, read

NEXT_TO_NOTHING = 0.1
"""Seconds that are too few to compare."""
STEEPEST = 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1 << 16, 1 << 18])
    sizes = parser.parse_args().sizes
    warnings.simplefilter("ignore")
    gc.disable()
    steep = 0
    print(f"{'parser':28} {'slowest input':40} " + " ".join(f"{size:>12,} B" for size in sizes) + "  power")
    for name, parse in parsers().items():
        found: list[tuple[float, str, list[float]]] = []
        for shape, made in inputs(name):
            seconds = []
            for size in sizes:
                data = made(size)
                start = time.thread_time()
                read(parse, data)
                seconds.append(time.thread_time() - start)
            enough = seconds[-1] > NEXT_TO_NOTHING and seconds[0] > 0
            power = math.log(seconds[-1] / seconds[0], sizes[-1] / sizes[0]) if enough else 0.0
            steep += power > STEEPEST
            found.append((power, shape, seconds))
        for power, shape, seconds in (max(found), max(found, key=lambda one: one[2][-1])):
            print(f"{name:28} {shape:40} " + " ".join(f"{each:12.4f} s" for each in seconds) + f"  {power:5.2f}")
    print(f"inputs that grow faster than bytes^{STEEPEST}: {steep}")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
