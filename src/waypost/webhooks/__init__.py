"""Signed webhooks: events of an account are posted to its endpoints, as Standard Webhooks 1.0 says (ADR 20)."""
