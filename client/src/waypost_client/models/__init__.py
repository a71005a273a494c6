# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses."""
