"""`python -m pipelines`: hands over to the command line.

The guard matters: worker processes import this module again when they start.
"""

import os
import sys

from pipelines.cli import main
from pipelines.failures import INTERRUPTED

if __name__ == "__main__":
    code = main()
    if code == INTERRUPTED:
        # CPython ends by the signal itself once an interrupt has passed through an `exec`, as in the making
        # of a dataclass during an import, even if it was caught: leave before it can.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
