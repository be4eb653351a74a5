"""The style that all figures share."""
