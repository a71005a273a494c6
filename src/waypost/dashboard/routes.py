"""Every noun's pages, and the navigation to them."""

from waypost.accounts.entering import pages as entering
from waypost.accounts.pages import pages as account
from waypost.bios.pages import pages as bios
from waypost.clicks.pages import pages as overview
from waypost.files.pages import pages as files
from waypost.links.pages import pages as links
from waypost.qr.pages import pages as codes

PAGES = (*overview.all, *links.all, *files.all, *codes.all, *bios.all, *account.all, *entering.all)
