# Written by `make docs`. Do not edit: change the code and run it again.
"""All operations of the API."""

from waypost_client.aio.operations.account import AsyncAccountOperations
from waypost_client.aio.operations.administration import AsyncAdministrationOperations
from waypost_client.aio.operations.bio_pages import AsyncBioPagesOperations
from waypost_client.aio.operations.branded_domains import AsyncBrandedDomainsOperations
from waypost_client.aio.operations.bulk import AsyncBulkOperations
from waypost_client.aio.operations.campaigns import AsyncCampaignsOperations
from waypost_client.aio.operations.channels import AsyncChannelsOperations
from waypost_client.aio.operations.cta_overlays import AsyncCtaOverlaysOperations
from waypost_client.aio.operations.files import AsyncFilesOperations
from waypost_client.aio.operations.imports import AsyncImportsOperations
from waypost_client.aio.operations.links import AsyncLinksOperations
from waypost_client.aio.operations.pixels import AsyncPixelsOperations
from waypost_client.aio.operations.qr_codes import AsyncQrCodesOperations
from waypost_client.aio.operations.share_links import AsyncShareLinksOperations
from waypost_client.aio.operations.splash_pages import AsyncSplashPagesOperations
from waypost_client.aio.operations.statistics import AsyncStatisticsOperations
from waypost_client.aio.operations.utm_templates import AsyncUtmTemplatesOperations


class AsyncOperations(
    AsyncAccountOperations,
    AsyncFilesOperations,
    AsyncCampaignsOperations,
    AsyncSplashPagesOperations,
    AsyncQrCodesOperations,
    AsyncChannelsOperations,
    AsyncPixelsOperations,
    AsyncUtmTemplatesOperations,
    AsyncBrandedDomainsOperations,
    AsyncCtaOverlaysOperations,
    AsyncShareLinksOperations,
    AsyncLinksOperations,
    AsyncBioPagesOperations,
    AsyncImportsOperations,
    AsyncStatisticsOperations,
    AsyncAdministrationOperations,
    AsyncBulkOperations,
):
    """One method for each operation."""
