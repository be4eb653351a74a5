"""Companions and questions of practice, a folder each: claim, measures, judge and pictures, deletable as a whole."""
