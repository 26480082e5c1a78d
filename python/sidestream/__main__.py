"""`python -m sidestream` is the command `sidestream`."""

from .cli import main

if __name__ == "__main__":
    main()
