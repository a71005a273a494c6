"""The remote command line, `waypost-cli`. It needs the extra `cli` of this package."""
