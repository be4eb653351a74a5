"""What `am.watch` costs of a training step, both in processor time of one run.

`PYTHONPATH=extras python -m benchmarks.watch_cost`.
"""

import statistics
import time

import torch
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

import amemlib as am


class Block(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        linear = lambda n, m: torch.nn.Linear(n, m, bias=False)
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        heads = [y.unflatten(-1, (4, -1)).transpose(1, 2) for y in self.qkv(self.first(x)).chunk(3, -1)]
        x = x + self.out(scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(gelu(self.up(self.second(x))))


def cost(layers: int, width: int, tokens: int, steps: int, every: int = 100) -> float:
    """The share of `every` steps that the watch takes, from the later half of `steps`, each matrix with one look."""
    torch.manual_seed(0)
    ends = torch.nn.Embedding(1000, width), torch.nn.Linear(width, 1000, bias=False)
    network = torch.nn.Sequential(ends[0], *(Block(width) for _ in range(layers)), ends[1])
    matrices = [p for block in network[1:-1] for p in block.parameters() if p.ndim == 2]
    rest = [p for p in network.parameters() if all(p is not other for other in matrices)]
    optimizers = am.Muon(matrices, ns_dtype=torch.float32), torch.optim.AdamW(rest)
    words, spent, looks, others = torch.randint(0, 1000, (tokens // 64, 65)), [], [], []

    def timed(hook):
        def run(*arguments):
            start = time.process_time()
            hook(*arguments)
            spent.append(time.process_time() - start)

        return run

    am.watch(optimizers[0], steps // 2, log=lambda *_: None)
    for hooks in (optimizers[0]._optimizer_step_pre_hooks, optimizers[0]._optimizer_step_post_hooks):
        for key, hook in hooks.items():
            hooks[key] = timed(hook)
    for _ in range(steps):
        spent.clear()
        start = time.process_time()
        cross_entropy(network(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        looks.append(sum(spent))
        others.append(time.process_time() - start - looks[-1])
    return sum(looks[steps // 2 :]) / (every * statistics.mean(others))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for sizes in ((2, 64, 256, 120), (12, 256, 512, 120)):
        print("{} layers, width {}, {} tokens: {:.2%}".format(*sizes[:3], cost(*sizes)))
