"""`python -m datasets`: hands over to the command line."""

import sys

from datasets.cli import main

if __name__ == "__main__":
    sys.exit(main())
