"""Every noun's routes, in the order of the API document."""

from waypost.accounts.api import router as accounts
from waypost.bios.api import router as bios
from waypost.campaigns.api import router as campaigns
from waypost.channels.api import router as channels
from waypost.clicks.api import router as clicks
from waypost.domains.api import router as domains
from waypost.files.api import router as files
from waypost.links.api import router as links
from waypost.overlays.api import router as overlays
from waypost.pixels.api import router as pixels
from waypost.qr.api import router as qr
from waypost.splash.api import router as splash

ROUTERS = (accounts, files, campaigns, splash, qr, channels, pixels, domains, overlays, links, bios, clicks)
