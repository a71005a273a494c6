"""Every noun's pages, and the navigation to them."""

from waypost.abuse.pages import pages as abuse
from waypost.accounts.entering import pages as entering
from waypost.accounts.pages import pages as account
from waypost.accounts.people import pages as people
from waypost.bios.pages import pages as bios
from waypost.campaigns.pages import pages as campaigns
from waypost.channels.pages import pages as channels
from waypost.clicks.pages import pages as overview
from waypost.dashboard.health import pages as health
from waypost.domains.pages import pages as domains
from waypost.files.pages import pages as files
from waypost.links.pages import pages as links
from waypost.overlays.pages import pages as overlays
from waypost.pixels.pages import pages as pixels
from waypost.qr.pages import pages as codes
from waypost.splash.pages import pages as splash

PAGES = (
    *overview.all,
    *links.all,
    *files.all,
    *codes.all,
    *bios.all,
    *campaigns.all,
    *channels.all,
    *splash.all,
    *overlays.all,
    *pixels.all,
    *domains.all,
    *account.all,
    *entering.all,
    *people.all,
    *abuse.all,
    *health.all,
)
