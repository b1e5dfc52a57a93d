"""`python -m groupkey` is the command `groupkey`."""

from groupkey._command import main

main()
