"""Tasks for memories and networks: each a frozen description, a sampler of its instances, and a check of them.

One file a task. `recall`: in-context recall (Section 6.2). `causal`: in-context causal graphs, imported by its own
name.
"""

from amembook.networks.tasks.recall import (
    RecallTask,
    Sequences,
    definition_errors,
    noise_frequencies,
    output_frequencies,
    sample_sequences,
    trigger_frequencies,
    uniform,
)

__all__ = [
    "RecallTask",
    "Sequences",
    "definition_errors",
    "noise_frequencies",
    "output_frequencies",
    "sample_sequences",
    "trigger_frequencies",
    "uniform",
]
