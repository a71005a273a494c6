"""Timings that are too slow or too moody for a test."""
