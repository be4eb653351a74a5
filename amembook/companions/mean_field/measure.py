"""What is measured: how far neurons are from their paths in the infinite network, by width, dimension and step."""

from amembook.companions.mean_field import dynamics


def measure_flow(dim: int, width: int, until: float, steps: int, seed: int) -> dict:
    """Gradient flow: `own` distance of the network and that of neurons that hear independent paths, `alone`."""
    return dynamics.distances("flow", dim, width, until, steps, seed)


def measure_polar(dim: int, width: int, until: float, polar_steps: int, seed: int) -> dict:
    """The same of Muon's polar factor, from its own infinite network."""
    return dynamics.distances("polar", dim, width, until, polar_steps, seed)
