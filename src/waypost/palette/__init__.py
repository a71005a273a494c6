"""The command palette of the dashboard: one search over all things of an account, its pages and actions."""
