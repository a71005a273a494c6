"""Every noun's pages, and the navigation to them."""

from waypost.accounts.entering import pages as entering
from waypost.accounts.pages import pages as account
from waypost.campaigns.pages import pages as campaigns
from waypost.clicks.pages import pages as overview
from waypost.links.pages import pages as links

PAGES = (*overview.all, *links.all, *campaigns.all, *account.all, *entering.all)
