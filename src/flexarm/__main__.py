"""Run the command `flexarm` as `python -m flexarm`."""

from flexarm.cli import main

main()
