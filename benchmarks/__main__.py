"""``python -m benchmarks NAME``."""

import sys

from benchmarks.runner import main

if __name__ == "__main__":
    sys.exit(main())
