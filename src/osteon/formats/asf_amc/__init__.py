"""Acclaim skeletons and motions: ASF and AMC."""
