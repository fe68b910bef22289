"""`python -m pipelines`: hands over to the command line.

The guard matters: worker processes import this module again when they start.
"""

import sys

from pipelines.cli import main

if __name__ == "__main__":
    sys.exit(main())
