"""Skeleton + Motion → what the joints are: kinds, limits, frames, movement axes."""
