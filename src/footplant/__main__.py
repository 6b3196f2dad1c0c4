"""`python -m footplant` is the same as `footplant`."""

import sys

from footplant.cli import main

if __name__ == "__main__":
    sys.exit(main())
