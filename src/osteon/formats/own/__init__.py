"""Osteon's own files: store, skeletons, passports, limits, compact motions."""
