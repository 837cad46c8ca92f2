"""The engine on Elasticsearch."""

from nwx.engine.elastic.engine import ElasticEngine

__all__ = ["ElasticEngine"]
