"""The law of a rectangle, whole or in tiles; `variants` reads it too."""

from amembook.networks.rectangle_law import RectangleLaw, expected_tiled_capacity, law_of_shapes

__all__ = ["RectangleLaw", "expected_tiled_capacity", "law_of_shapes"]
