"""A spider for tests, run by `scrapy runspider` in an environment with Scrapy alone."""

from collections.abc import Iterator
from typing import Any

import scrapy


class TopicSpider(scrapy.Spider):
    """Follows all links breadth-first, or in the order of nwx's scheduler if that is set."""

    name = "topic"
    custom_settings = {  # noqa: RUF012
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 8,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
    }

    def __init__(self, seeds: str = "", **more: Any) -> None:
        super().__init__(**more)
        self.start_urls = seeds.split()

    def parse(self, response: Any) -> Iterator[Any]:
        """Follow the links of a page."""
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
