"""`python -m datasets`: hands over to the command line."""

import os
import sys

from datasets.cli import main

if __name__ == "__main__":
    code = main()
    if (
        code == 1
    ):  # the disk or memory failed: zarr's event loop would tell about each chunk that was to follow
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
