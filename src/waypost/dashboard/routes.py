"""Every noun's pages, and the navigation to them."""

from waypost.abuse.pages import pages as abuse
from waypost.accounts.entering import pages as entering
from waypost.accounts.pages import pages as account
from waypost.accounts.people import pages as people
from waypost.clicks.pages import pages as overview
from waypost.dashboard.health import pages as health
from waypost.links.pages import pages as links

PAGES = (*overview.all, *links.all, *account.all, *entering.all, *people.all, *abuse.all, *health.all)
