# Written by `make docs`. Do not edit: change the code and run it again.
"""All operations of the API."""

from waypost_client.sync.operations.account import AccountOperations
from waypost_client.sync.operations.administration import AdministrationOperations
from waypost_client.sync.operations.bio_pages import BioPagesOperations
from waypost_client.sync.operations.branded_domains import BrandedDomainsOperations
from waypost_client.sync.operations.bulk import BulkOperations
from waypost_client.sync.operations.campaigns import CampaignsOperations
from waypost_client.sync.operations.channels import ChannelsOperations
from waypost_client.sync.operations.cta_overlays import CtaOverlaysOperations
from waypost_client.sync.operations.files import FilesOperations
from waypost_client.sync.operations.imports import ImportsOperations
from waypost_client.sync.operations.links import LinksOperations
from waypost_client.sync.operations.pixels import PixelsOperations
from waypost_client.sync.operations.qr_codes import QrCodesOperations
from waypost_client.sync.operations.share_links import ShareLinksOperations
from waypost_client.sync.operations.splash_pages import SplashPagesOperations
from waypost_client.sync.operations.statistics import StatisticsOperations
from waypost_client.sync.operations.utm_templates import UtmTemplatesOperations


class Operations(
    AccountOperations,
    FilesOperations,
    CampaignsOperations,
    SplashPagesOperations,
    QrCodesOperations,
    ChannelsOperations,
    PixelsOperations,
    UtmTemplatesOperations,
    BrandedDomainsOperations,
    CtaOverlaysOperations,
    ShareLinksOperations,
    LinksOperations,
    BioPagesOperations,
    ImportsOperations,
    StatisticsOperations,
    AdministrationOperations,
    BulkOperations,
):
    """One method for each operation."""
