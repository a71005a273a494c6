"""Every noun's pages, and the navigation to them."""

from waypost.accounts.entering import pages as entering
from waypost.accounts.pages import pages as account
from waypost.campaigns.pages import pages as campaigns
from waypost.channels.pages import pages as channels
from waypost.clicks.pages import pages as overview
from waypost.domains.pages import pages as domains
from waypost.links.pages import pages as links
from waypost.overlays.pages import pages as overlays
from waypost.pixels.pages import pages as pixels
from waypost.splash.pages import pages as splash

PAGES = (
    *overview.all,
    *links.all,
    *campaigns.all,
    *channels.all,
    *splash.all,
    *overlays.all,
    *pixels.all,
    *domains.all,
    *account.all,
    *entering.all,
)
