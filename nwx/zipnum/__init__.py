"""ZipNum clusters: capture indexes in compressed blocks, for billions of lines."""

from nwx.zipnum.cluster import Cluster, after, open_cluster

__all__ = ["Cluster", "after", "open_cluster"]
