"""The table of UTM templates."""

from sqlalchemy import Column, Index, Text, UniqueConstraint

from waypost.db.schema.columns import name_key, owned, string

# Values of UTM parameters, under a name. Links do not refer to them: they are written into destinations.
utm_templates = owned(
    "utm_templates",
    Column("name", Text, nullable=False, doc="Name."),
    name_key(),
    string("utm_source", doc="Value of utm_source."),
    string("utm_medium", doc="Value of utm_medium."),
    string("utm_campaign", doc="Value of utm_campaign."),
    string("utm_term", doc="Value of utm_term."),
    string("utm_content", doc="Value of utm_content."),
    UniqueConstraint("account", "name"),
    Index("utm_templates_account_name_key_unique", "account", "name_key", unique=True),
)
