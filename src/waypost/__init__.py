"""waypost: self-hosted short links, files and QR codes with exact numbers."""

import gc

# Python looks for garbage whenever there are 700 more objects than before: a fifth of the time of a start, for nothing.
gc.set_threshold(10_000, 10, 10)
__version__ = "1.0.0"
