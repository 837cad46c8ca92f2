"""All that programs can ask of this application."""

from webapp.cdx.operations import CDX_OPERATIONS
from webapp.crawls.operations import CRAWL_OPERATIONS
from webapp.entities.operations import ENTITY_OPERATIONS
from webapp.explore.operations import FACET_OPERATIONS
from webapp.links.operations import LINK_OPERATIONS
from webapp.pictures.picture_operations import PICTURE_OPERATIONS
from webapp.quality.operations import QUALITY_OPERATIONS
from webapp.queue.operations import QUEUE_OPERATIONS
from webapp.search.operations import SEARCH_OPERATIONS
from webapp.trends.operations import TRENDS_OPERATIONS

ALL_OPERATIONS = (
    *SEARCH_OPERATIONS,
    *PICTURE_OPERATIONS,
    *TRENDS_OPERATIONS,
    *FACET_OPERATIONS,
    *LINK_OPERATIONS,
    *CRAWL_OPERATIONS,
    *QUALITY_OPERATIONS,
    *ENTITY_OPERATIONS,
    *CDX_OPERATIONS,
    *QUEUE_OPERATIONS,
)
