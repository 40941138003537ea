"""The command ``python -m skgraded``."""

import sys

from skgraded.cli import main

if __name__ == "__main__":
    sys.exit(main())
