"""`python -m amemlib doctor FILE`, or `amemlib doctor FILE`; the book's studies run by `python -m amembook`."""

import sys

from amemlib.training.doctor import main

if __name__ == "__main__":
    sys.exit(main())
