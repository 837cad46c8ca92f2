"""ZipNum clusters: capture indexes in compressed blocks, for billions of lines."""

from nwx.zipnum.cluster import Cluster, open_cluster

__all__ = ["Cluster", "open_cluster"]
