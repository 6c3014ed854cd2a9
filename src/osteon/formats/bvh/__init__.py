"""Biovision hierarchies."""
