"""waypost: self-hosted short links, files and QR codes with exact numbers."""

__version__ = "0.1.0"
