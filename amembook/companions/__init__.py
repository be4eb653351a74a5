"""Companion papers, a folder each, deletable as a whole."""
