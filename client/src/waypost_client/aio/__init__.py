"""The asynchronous client. The build generates the synchronous one in `sync` from it."""
