"""Networks that store facts: their tasks, their layers and their training."""
