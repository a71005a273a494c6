"""Reports of statistics by e-mail, weekly or monthly, also to people without an account."""
