"""The asynchronous client. scripts/generate_client.py derives the synchronous one in `sync` from it."""
