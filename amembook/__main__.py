"""The command line: `python -m amembook list | show | run | judge | reproduce`."""

import sys

if __name__ == "__main__":
    try:
        from amembook.run.command_line import main

        sys.exit(main())
    except KeyboardInterrupt:
        print("amembook: interrupted", file=sys.stderr)
        sys.exit(130)
