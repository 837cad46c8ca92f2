"""ZipNum clusters: capture indexes in compressed blocks, for billions of lines."""

from nwx.zipnum.cluster import Cluster, end_after, open_cluster

__all__ = ["Cluster", "end_after", "open_cluster"]
