"""The watch: the steps of any optimizer, the momenta of Muon's, what it says in words, and what it goes on after."""

import re
import warnings

import pytest
import torch

import amemlib as am

TORCH = getattr(torch.optim, "Muon", None)


def noise(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def run(kind, steps=4, every=4, scale=1.0, shapes=((48, 48), (96, 32)), dtype=torch.float32, log=None, **options):
    """Decaying gradients with a falling spectrum; the last logged values, and what was said."""
    params = [torch.nn.Parameter((noise(*shape) / 7).to(dtype)) for shape in shapes]
    optimizer, seen = kind([(f"w{i}", p) for i, p in enumerate(params)], **options), []
    am.watch(optimizer, every, (lambda *pair: seen.append(pair)) if log is None else log)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        falls = [torch.linalg.qr(noise(*p.shape))[0] * torch.logspace(0, -1.5, min(p.shape)) for p in params]
        for t in range(steps):
            for p, falling in zip(params, falls, strict=True):
                p.grad = (scale * 0.7**t * (falling + noise(*p.shape, seed=t) / 100)).to(dtype)
            optimizer.step()
    return seen, " | ".join(str(one.message) for one in said)


def of(values, kind):
    return [x for key, x in values.items() if key.startswith(kind + "/")]


@pytest.mark.parametrize("kind", [am.Muon, pytest.param(TORCH, marks=pytest.mark.skipif(not TORCH, reason="no Muon"))])
def test_a_muon_step_is_flat_and_has_its_size(kind):
    seen, said = run(kind, lr=0.02)
    [*_, (step, values)] = seen
    assert step == 4 and not said and list(values)[:2] == ["reach/w0", "lift/w0"]
    assert len(of(values, "flatness")) == 2 and min(of(values, "flatness")) > 0.5
    for name, scale in (("w0", 1), ("w1", 3**0.5)):
        # power iteration and a momentum one Nesterov step behind
        assert values[f"size/{name}"] == pytest.approx(scale * values[f"lift/{name}"] ** 0.5, rel=0.1)


def test_a_step_of_momentum_sgd_is_named():
    [*_, (_, values)], said = run(torch.optim.SGD, lr=0.01, momentum=0.9)
    assert max(of(values, "flatness")) < 0.3 and "w0, w1: this step is not orthogonal" in said


def test_a_flatness_is_that_of_the_singular_values():
    [W], seen = [torch.nn.Parameter(noise(12, 8))], []
    optimizer = torch.optim.SGD([W], lr=0.1)
    am.watch(optimizer, 1, lambda step, values: seen.append(values))
    W.grad = torch.linalg.qr(noise(12, 8))[0] @ torch.diag(torch.tensor([2.0] + [0.5] * 7))
    with pytest.warns(UserWarning, match="not orthogonal"):
        optimizer.step()
    expected = {"size/0": ((4 + 7 / 4) / 8) ** 0.5, "flatness/0": (4 + 7 / 4) / 8 / 4}
    assert seen == [pytest.approx(expected, rel=1e-4)]


def test_steps_that_bfloat16_swallows_are_named():
    [*_, (_, values)], said = run(am.Muon, lr=2e-4, dtype=torch.bfloat16, shapes=[(48, 48)])
    assert values["size/w0"] < 0.5 * values["lift/w0"] ** 0.5 and "w0: this step is lost in the rounding" in said
    assert "not orthogonal" not in said and "shorter" not in said
    # in float32 nothing of it is lost, and in bfloat16 nothing of a longer step
    assert not run(am.Muon, lr=2e-4)[1] and not run(am.Muon, lr=2e-2, dtype=torch.bfloat16)[1]


def test_rounding_excuses_no_step_that_it_does_not_swallow():
    """Momentum SGD's step in bfloat16, in a group that says Jordan's steps."""

    class Skipped(am.Muon):
        def _step_group(self, group, params):
            super()._step_group(group | {"schedule": lambda M: M / M.norm() * 0.4}, params)

    _, said = run(Skipped, lr=2e-1, dtype=torch.bfloat16, shapes=[(48, 48)])
    assert "w0: this step is not orthogonal" in said and "rounding" not in said


@pytest.mark.parametrize(("lr", "word"), [(0.0, "0"), (-0.1, "negative"), (float("nan"), "not finite")])
def test_at_a_rate_that_is_none_it_says_once_why_sizes_are_missing(lr, word):
    [W], seen = [torch.nn.Parameter(noise(8, 8))], []
    optimizer = am.Muon([("w", W)])
    optimizer.param_groups[0]["lr"] = lr
    am.watch(optimizer, 1, lambda step, values: seen.append(values))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            W.grad = noise(8, 8)
            optimizer.step()
    text = f"step 1, w: the rate is {word}: no size and no flatness of its steps"
    assert [str(one.message) for one in said] == [text]
    assert all(set(values) == {"reach/w", "lift/w"} for values in seen)


def test_below_epsilon_nothing_is_lifted_and_zeros_are_no_alarm():
    [*_, (_, values)], said = run(am.Muon, lr=0.02, scale=1e-9)
    assert max(of(values, "lift")) < 0.1 and "below ε" in said
    [*_, (_, values)], said = run(am.Muon, lr=0.02, scale=0.0)
    assert not said and not of(values, "lift") and max(of(values, "size")) < 1e-3


def test_after_an_infinite_gradient_it_names_the_matrix_and_goes_on():
    seen, said = run(am.Muon, steps=6, every=2, lr=0.02, scale=float("inf"))
    # at once, though each second step is logged
    assert [step for step, _ in seen] == [1, 2, 4, 6] and "step 1, w0, w1: the momentum is not finite" in said
    assert all(values["reach/w0"] != values["reach/w0"] and "size/w0" in values for _, values in seen[2:])


def test_it_takes_wrapped_optimizers_and_counts_on_after_a_resume():
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer

        def step(self):
            self.optimizer.step()

    [W], seen = [torch.nn.Parameter(noise(8, 8))], []
    for start in (0, 6):
        wrapped = Wrapper(am.Muon([W]))
        handle = am.watch(wrapped, 2, lambda step, values: seen.append(step), start=start)
        for t in range(6):
            W.grad = noise(8, 8, seed=t)
            words = "no momentum at start=6: load the optimizer's state"
            with pytest.warns(UserWarning, match=words) if t < start // 6 else warnings.catch_warnings():
                wrapped.step()
        handle.remove()
        wrapped.step(), wrapped.step()
    assert seen == [1, 2, 4, 6, 7, 8, 10, 12]


def test_what_it_cannot_see_is_said_once_and_names_that_collide_are_numbered():
    class Other(torch.optim.SGD):
        def step(self):
            for p in self.param_groups[0]["params"]:
                self.state[p]["m"] = p.grad
            super().step()

    first, second, seen = torch.nn.Parameter(noise(8, 8)), torch.nn.Parameter(noise(6, 4)), []
    for kind in (Other, am.Muon):
        optimizer = kind([{"params": [("weight", first)]}, {"params": [("weight", second)]}], lr=0.1)
        am.watch(optimizer, 2, lambda step, values: seen.append(values))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for t in range(4):
                first.grad, second.grad = noise(8, 8, seed=t), noise(6, 4, seed=t)
                optimizer.step()
        assert sum("cannot be seen" in str(one.message) for one in said) == (kind is Other)
    assert {"reach/weight", "reach/weight#2", "size/weight", "size/weight#2"} <= set(seen[-1])


def test_a_dashboard_gets_a_few_numbers_a_group():
    class Writer(dict):
        def add_scalar(self, key, value, step):
            self[key, step] = value

    writer = Writer()
    run(am.Muon, lr=0.02, shapes=((16, 16),) * 5, steps=10, every=5, log=writer)
    keys = [key for key, step in writer if step == 5]
    assert len(keys) == 12 and {"group0/flatness/min", "group0/reach/median", "flatness/w4"} <= set(keys)
    with pytest.raises(TypeError, match="SummaryWriter"):
        am.watch(am.Muon([torch.nn.Parameter(noise(4, 4))]), 1, "tensorboard")


def test_a_scheduler_that_moves_the_momentum_is_named():
    W = torch.nn.Parameter(noise(16, 16))
    for own, said in (({}, 1), ({"cycle_momentum": False}, 0)):
        optimizer = am.Muon([("w", W)])
        torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=9, **own)
        am.watch(optimizer, 1, None)
        W.grad = noise(16, 16)
        with warnings.catch_warnings(record=True) as texts:
            warnings.simplefilter("always")
            optimizer.step()
        assert sum("moves the momentum" in str(one.message) for one in texts) == said


def test_without_a_log_it_only_warns_and_a_head_under_muon_is_named(capsys):
    W = torch.nn.Parameter(noise(16, 16))
    optimizer = am.Muon([("lm_head.weight", W)])
    am.watch(optimizer, 1, None)
    W.grad = noise(16, 16)
    with pytest.warns(UserWarning, match="lm_head.weight: give AdamW embeddings and the head"):
        optimizer.step()
    assert not capsys.readouterr().out


@pytest.mark.parametrize("use", [True, None])
def test_adams_part_of_an_optimizer_is_left_out_and_an_adam_alone_is_named(use):
    class Both(torch.optim.AdamW):
        """Muon's first weight and Adam's second in one optimizer, as Jordan's MuonWithAuxAdam has them."""

        def step(self):
            W = self.param_groups[0]["params"][0]
            M = self.state[W].setdefault("momentum_buffer", W.grad.clone())
            W.data -= self.param_groups[0]["lr"] * am.polar(M)
            W.grad = None
            super().step()

    W, V = torch.nn.Parameter(noise(24, 16)), torch.nn.Parameter(noise(24, 16))
    mixed = [{"params": [("w", W)]}, {"params": [("embed", V)]}]
    mixed = mixed if use is None else [one | {"use_muon": not i} for i, one in enumerate(mixed)]
    alone = torch.optim.AdamW([("embed", V)])
    for optimizer, words in ((Both(mixed), ""), (alone, "watch the optimizer that is Muon")):
        seen = []
        am.watch(optimizer, 1, lambda step, values, to=seen: to.append(values))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(3):
                W.grad, V.grad = noise(24, 16), noise(24, 1) @ noise(1, 16)
                optimizer.step()
        assert len(said) == bool(words) and all(words in str(one.message) for one in said)
        names = {key.partition("/")[2] for values in seen for key in values}
        assert names == (set() if words else {"w"})


def test_a_fused_matrix_that_is_not_cut_is_named():
    for options, shape, said in (({}, (48, 16), 1), ({"split": 3}, (48, 16), 0), ({}, (32, 16), 0)):
        W = torch.nn.Parameter(noise(*shape))
        optimizer = am.Muon([("attn.qkv.weight", W)], **options)
        am.watch(optimizer, 1, None)
        W.grad = noise(*shape)
        with warnings.catch_warnings(record=True) as texts:
            warnings.simplefilter("always")
            optimizer.step()
        assert sum("looks fused" in str(one.message) and "rule 7" in str(one.message) for one in texts) == said


def test_parts_and_functions_have_their_numbers():
    [*_, (_, values)], _ = run(am.Muon, lr=0.02, heads=2, schedule="cans", shapes=[(24, 16)])
    assert {f"{key}/w0[{i}]" for key in ("reach", "lift", "size", "flatness") for i in (0, 1)} == set(values)
    [*_, (_, values)], _ = run(am.Muon, lr=0.02, schedule=am.polar, shapes=[(24, 16)])
    assert set(values) == {"lift/w0", "size/w0", "flatness/w0"} and values["lift/w0"] == pytest.approx(1)


@pytest.mark.skipif(not TORCH, reason="this torch has no Muon")
def test_torchs_muon_is_looked_at_with_its_steps():
    [W], seen = [torch.nn.Parameter(noise(24, 16))], []
    optimizer = TORCH([W], ns_steps=3)
    am.watch(optimizer, 1, lambda step, values: seen.append(values))
    W.grad = noise(24, 16)
    optimizer.step()
    row = am.diagnose(optimizer.state[W]["momentum_buffer"], {"three": am.spectral.SCHEDULES["jordan"][:3]})
    assert seen[0]["reach/0"] == pytest.approx(row.reach["three"], rel=1e-4)
    assert seen[0]["lift/0"] == pytest.approx(row.lift["three"], rel=1e-4)


def test_a_step_longer_than_the_schedule_makes_it_is_named():
    [W], seen = [torch.nn.Parameter(noise(24, 16))], []
    optimizer = am.Muon([W], lr=0.1)
    am.watch(optimizer, 1, lambda step, values: seen.append(values))
    # what the group says when the step is measured is not what was taken
    optimizer.register_step_pre_hook(lambda optimizer, *_: optimizer.param_groups[0].update(lr=0.3))
    W.grad = noise(24, 16)
    with pytest.warns(UserWarning, match="longer than momentum and rate say"):
        optimizer.step()


def test_it_looks_once_early_and_prints_one_line(capsys):
    """As soon as every matrix has had its turn: a run shorter than `every` hears of it too."""
    run(am.Muon, lr=0.02, steps=3, every=100, log=print)
    [line] = capsys.readouterr().out.splitlines()
    form = r"size \S+ \(w\d\) to \S+, flatness .*, reach .*, lift \S+ \(w\d\) to \S+"
    form = "step 2, steps orthogonal, rate 0.02 not judged: " + form
    assert re.fullmatch(form, line)
    assert all(len(number) < 9 for number in re.findall(r"[\d.]+", line))
    run(am.Muon, lr=0.02, steps=2, every=100, log=print, scale=float("nan"))
    assert "size nan (w" in capsys.readouterr().out
    seen, _ = run(am.Muon, lr=0.02, steps=9, every=4)
    assert [step for step, _ in seen] == [2, 4, 8]
    assert {type(x) for _, values in seen for x in values.values()} == {float}
    assert all(len(of(values, "flatness")) == 2 for _, values in seen)


def test_a_schedule_that_lifts_hardly_anything_is_named():
    [*_, (_, values)], said = run(am.Muon, lr=0.02, schedule=am.spectral.SCHEDULES["jordan"][:1])
    assert max(of(values, "flatness")) < 0.3 and "w0, w1: the schedule is too short" in said


def falling(k, least=-6.0):
    """A momentum as of an early step: five steps lift a part of it."""
    return torch.linalg.qr(noise(k, k))[0] * torch.logspace(0, least, k) @ torch.linalg.qr(noise(k, k, seed=1))[0]


def test_an_early_reach_is_no_warning_and_a_late_one_has_a_remedy():
    for start, words in ((0, ""), (100, "w: the reach is below 0.9: where the middle one")):
        optimizer = am.Muon([("w", torch.nn.Parameter(noise(48, 48)))], lr=0.02)
        am.watch(optimizer, 1, lambda *_: None, start=start)
        optimizer.param_groups[0]["params"][0].grad = falling(48)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            optimizer.step()
        # that this state has no momentum before it is said first
        assert [words in str(one.message) for one in said[start > 0 :]] == [True] * bool(words)


class Own(torch.optim.Optimizer):
    """A home-made Muon with a scale, a sum of gradients and a name for its options that are its own."""

    def __init__(self, params, lr, decay=0.0, skipped=False, key="momentum_buffer"):
        super().__init__(params, {"lr": lr, "weight_decay": decay})
        self.f = (lambda M: M / M.norm() * min(M.shape) ** 0.5) if skipped else am.schedule("jordan")
        self.key = key

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            B = self.state[p].setdefault(self.key, torch.zeros_like(p))
            B.mul_(0.95).add_(p.grad)
            lr = self.param_groups[0]["lr"]
            p.mul_(1 - lr * self.param_groups[0]["weight_decay"]).add_(self.f(B).float(), alpha=-5 * lr)


@pytest.mark.parametrize("lost", [60, 30])
def test_a_step_is_judged_by_the_momentum_that_it_was_made_of(lost):
    """Spectra get broader as a run goes on: a step of low rank among the first is no fault, one lost later is one."""
    params = [torch.nn.Parameter(noise(48, 48, seed=i) / 10) for i in range(6)]
    optimizer = Own([(f"w{i}", p) for i, p in enumerate(params)], lr=3e-3)
    am.watch(optimizer, 60, lambda *_: None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for t in range(60):
            if t == lost:
                optimizer.f = lambda M: 7 * M / M.norm()
            for i, p in enumerate(params):
                low_rank = noise(48, 3, seed=i) @ noise(3, 48, seed=i)
                p.grad = low_rank + (1e-4 if t < 20 else 1.0) * noise(48, 48, seed=100 * t + i)
            optimizer.step()
    said = " ".join(str(one.message) for one in said)
    words = "step 60, w0, w1, w2, w3 and 2 more: this step is not orthogonal"
    assert words in said if lost < 60 else not said


@pytest.mark.parametrize("key", ["momentum_buffer", "m"])
@pytest.mark.parametrize(("decay", "skipped"), [(0.0, False), (1.0, False), (0.0, True)])
def test_a_muon_of_ones_own_is_not_accused_and_a_skipped_one_is(key, decay, skipped):
    [W], seen = [torch.nn.Parameter(noise(48, 48))], []
    optimizer = Own([W], 0.02, decay, skipped, key)
    am.watch(optimizer, 1, lambda step, values: seen.append(values))
    W.grad = falling(48, -8.0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        optimizer.step()
    text = "step 1, 0 of shape (48, 48): this step is not orthogonal: look whether Newton–Schulz is called"
    texts = [str(one.message) for one in said if "cannot be seen" not in str(one.message)]
    assert len(texts) == skipped and all(one.startswith(text) for one in texts)
    # an early step is less flat than late ones
    assert seen[0]["flatness/0"] < 0.3


def test_what_ends_a_run_is_told_at_once_though_nothing_is_logged():
    for fault in ("nan", "rate"):
        params = [torch.nn.Parameter(noise(8, 8)) for _ in range(3)]
        optimizer = am.Muon(params, lr=0.02 if fault == "nan" else 0.0)
        am.watch(optimizer, 1000, lambda *_: None)
        told = {}
        for t in range(1, 12):
            for i, p in enumerate(params):
                p.grad = noise(8, 8, seed=t)
                p.grad[0, 0] = torch.nan if fault == "nan" and (t > 7 or t == 7 and i == 1) else 1.0
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                optimizer.step()
            told |= dict.fromkeys([t] * bool(said), str(said[-1].message) if said else None)
        [(step, text)] = told.items()
        assert (step, "not finite" in text, "rate is 0" in text) == (
            (8, True, False) if fault == "nan" else (3, False, True)
        )


def test_a_model_of_many_matrices_has_its_early_look_by_its_tenth_step():
    seen, _ = run(torch.optim.SGD, lr=0.02, shapes=((4, 4),) * 30, steps=9, every=100)
    assert [step for step, _ in seen] == [8] and len(of(seen[0][1], "flatness")) == 30


def test_a_warning_points_at_the_line_that_steps():
    W = torch.nn.Parameter(noise(8, 8))
    optimizer = am.Muon([W])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    am.watch(optimizer, 1, lambda *_: None)
    W.grad = noise(8, 8) * float("nan")
    with pytest.warns(UserWarning, match="not finite") as said:
        optimizer.step(), schedule.step()
    assert {one.filename for one in said} == {__file__}
