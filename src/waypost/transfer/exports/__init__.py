"""Exports of one account: everything in a ZIP archive, or its links as CSV."""
