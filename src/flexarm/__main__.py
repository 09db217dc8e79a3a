"""`python -m flexarm` is the command `flexarm`."""

from flexarm.cli import main

main()
