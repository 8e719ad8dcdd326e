"""`python -m amends` is the command line."""

from amends.cli import main

main()
