"""The audit log as people and programs read it."""
