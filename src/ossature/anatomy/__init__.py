"""Skeleton + Motion → what the joints are: their kinds, how far they go, how the body is laid out."""
