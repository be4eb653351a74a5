"""The studies of the paper and of what goes beyond it: config, measures, judge and figures side by side."""
