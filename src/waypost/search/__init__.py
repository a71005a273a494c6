"""Search of the dashboard: the words of a search, and the items of an account that match them."""
