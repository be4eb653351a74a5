"""`python -m amemlib doctor FILE`; the studies of the book run by `python -m amembook`."""

import sys

from amemlib.training.doctor import main

if __name__ == "__main__":
    sys.exit(main())
