"""The tables of revision 0001, by subject."""
