"""The cheat sheet and the thirty questions: two screens, rules with their evidence, lines that run on this torch."""

import math
import re
from pathlib import Path

import cheat_sheet
import pytest
import torch
import voice

import amemlib as am

ROOT = Path(__file__).resolve().parents[1]
RULES = cheat_sheet.rules(ROOT)
PAGE = cheat_sheet.page(ROOT)
QUESTIONS = (ROOT / "chapters" / "practice" / "questions.md").read_text(encoding="utf-8")
WORDS = {"sheet": 450, "questions": 1600}
MOST, WIDE = 11, 76
"""Rules, and characters of a line of code that no screen of 1280 pixels cuts."""
CODE = re.search(r"```python\n(.+?)```", PAGE, re.S)[1]
GRADES = ("high", "medium", "low", "none")


def words(text: str) -> int:
    return voice.measures(re.sub("</?[a-z][^>]*>", "", text))["words"]


def test_the_page_is_up_to_date():
    for path, text in cheat_sheet.pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make figures"


@pytest.mark.parametrize("rule", RULES, ids=[str(n) for n in range(1, len(RULES) + 1)])
def test_a_rule_is_an_imperative_with_a_reason_and_two_kinds_of_evidence(rule):
    assert re.match(r"[A-Z][a-z]+ ", rule["do"]) and "?" not in rule["do"]
    assert len(rule["do"].split()) <= 20 and len(rule["why"].split()) <= 12
    for key in ("practice", "book"):
        grade, text = rule[key]
        assert grade in GRADES and text and ("not measured" in text) == (grade == "none")
    assert "](http" in rule["practice"][1] or "{cite" in rule["practice"][1] or "nanochat" in rule["practice"][1]
    assert not voice.VERDICTS.search(str(rule)), "a verdict word"


def test_the_sheet_is_the_first_page_of_its_part_and_the_questions_follow():
    toc = cheat_sheet.yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    (part,) = (part for part in toc["parts"] if part["caption"] == "Workshop")
    files = [chapter["file"] for chapter in part["chapters"][:2]]
    assert files == [f"chapters/{cheat_sheet.PAGE}", "chapters/practice/questions"]


def test_the_sheet_and_the_questions_are_short():
    assert words(PAGE) <= WORDS["sheet"] and words(QUESTIONS) <= WORDS["questions"]
    assert len(RULES) <= MOST and len(re.findall("^### ", QUESTIONS, re.M)) == 30


def test_what_this_book_measured_leads_to_the_row_that_has_the_record():
    rows = {cheat_sheet.ledger.place(row): row for row in cheat_sheet.ledger.rows(ROOT)}
    written = cheat_sheet.yaml.safe_load((ROOT / "chapters" / "practice" / "rules.yml").read_text(encoding="utf-8"))
    for rule, source in zip(RULES, written, strict=True):
        linked = re.findall(r'all-statements\.html#([\w-]+)"', rule["book"][1])
        assert bool(linked) == ("record" in source)
        assert all(source["record"] in cheat_sheet.ledger.several(rows[place]["record"]) for place in linked)


class Model(torch.nn.Module):
    """Embedding, two blocks with a norm and a matrix of their own, and a head."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(32, 8)
        block = lambda: torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.GELU())
        self.blocks = torch.nn.Sequential(block(), block())
        self.head = torch.nn.Linear(8, 32, bias=False)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))


def gradients(model: torch.nn.Module) -> None:
    tokens = torch.arange(32)
    torch.nn.functional.cross_entropy(model(tokens), tokens.roll(1)).backward()


def test_the_lines_give_muon_the_matrices_of_the_blocks_and_adamw_the_rest():
    torch.manual_seed(0)
    model = Model()
    gradients(model)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    here = {"model": model, "LR": 1e-3, "DECAY": 0.1}
    exec(CODE, here)
    assert all(bool((p != before[name]).any()) for name, p in model.named_parameters())
    of_muon = {id(p) for group in here["muon"].param_groups for p in group["params"]}
    names = [name for name, p in model.named_parameters() if id(p) in of_muon]
    assert names == ["blocks.0.1.weight", "blocks.1.1.weight"]
    assert here["muon"].param_groups[0]["param_names"] == names
    decays = {len(group["params"]): group["weight_decay"] for group in here["adamw"].param_groups}
    # embedding and head decay; no vector does
    assert decays == {2: 0.1, len(before) - 4: 0}
    assert all(p.grad is None for p in model.parameters())
    # a step of AdamW's size: the root mean square of an orthogonal step times 0.2 of the rate
    moved = model.blocks[0][1].weight.detach() - before[names[0]] * (1 - 1e-3 * 0.1)
    assert 0.12 < float(moved.square().mean().sqrt()) / 1e-3 < 0.28


def test_the_lines_for_a_fused_matrix_stand_in_for_torchs():
    code = "".join(re.findall(r"^# (qkv = .+\n)# (other = .+\n)# (muon = .+\n)#( .+\n)", CODE, re.M)[0])
    new = lambda *shape: torch.nn.Parameter(torch.randn(*shape, generator=torch.Generator().manual_seed(0)))
    qkv, out = new(24, 8), new(8, 8)
    here = {"am": am, "hidden": [("0.out", out), ("0.qkv", qkv)], "LR": 1e-3, "DECAY": 0.0}
    exec(code, here)
    parts = [torch.nn.Parameter(part.clone()) for part in (*qkv.detach().chunk(3), out.detach())]
    apart = torch.optim.Muon(parts, lr=1e-3, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    G = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
    qkv.grad, out.grad = G[:24].clone(), G[24:].clone()
    for part, g in zip(parts, G.chunk(4), strict=True):
        part.grad = g.clone()
    here["muon"].step(), apart.step()
    assert torch.equal(torch.cat([qkv, out]), torch.cat(parts))


def test_no_line_of_the_sheet_is_cut():
    assert max(map(len, CODE.splitlines())) <= WIDE


@pytest.mark.parametrize("code", re.findall(r"```python\n(.+?)```", QUESTIONS, re.S))
def test_a_line_of_the_questions_runs(code, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = Model()
    gradients(model)
    new = lambda *shape: torch.nn.Parameter(torch.randn(*shape))
    here = {
        "torch": torch,
        "am": am,
        "model": model,
        "LR": 1e-3,
        "STEPS": 10,
        "convs": [new(8, 3, 3, 3)],
        "qkv": [new(640, 16)],
    }
    hidden = [(name, p) for name, p in model.blocks.named_parameters() if p.ndim == 2]
    here |= {"hidden": hidden, "rest": [*model.head.parameters()]}
    here |= {name: getattr(torch.optim.lr_scheduler, name) for name in ("OneCycleLR", "CosineAnnealingLR")}
    here["muon"], here["adamw"] = torch.optim.Muon(here["hidden"]), torch.optim.AdamW(here["rest"])
    if '"heads"' in code:
        here["qkv"] = [new(3 * 24, 16)]
    exec(code, here)
    here["muon"].step()
    assert all(p.isfinite().all() for _, p in hidden)


def test_onecycle_moves_muons_momentum_unless_it_is_forbidden():
    def least(**forbidden):
        muon = torch.optim.Muon([torch.nn.Parameter(torch.zeros(4, 4))])
        scheduler = torch.optim.lr_scheduler.OneCycleLR(muon, 0.01, total_steps=20, **forbidden)
        seen = []
        for _ in range(19):
            seen.append(muon.param_groups[0]["momentum"])
            muon.step(), scheduler.step()
        return min(seen)

    assert least() == pytest.approx(0.85, abs=0.01) and least(cycle_momentum=False) == 0.95


def test_a_clipped_gradient_below_epsilon_makes_no_step():
    G = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    size = lambda c: am.diagnose({"w": c * G / G.norm()}, eps=1e-7)[0].lift["jordan"]
    assert size(1e-6) == pytest.approx(size(1.0)) and size(1e-10) < 0.01 * size(1.0)


@pytest.mark.parametrize(
    ("agree", "steps"),
    [(True, math.log(100 * 0.05) / math.log(1 / 0.95)), (False, math.log(100 * 0.3122499) / math.log(1 / 0.95))],
)
def test_a_spike_outweighs_the_rest_of_the_momentum_for_as_many_steps_as_the_pages_say(agree, steps):
    p = torch.nn.Parameter(torch.zeros(24, 24, dtype=torch.float64))
    muon, last = torch.optim.Muon([p], lr=0.0), None
    for step in range(400):
        p.grad = torch.zeros_like(p)
        # agreeing gradients are one matrix, independent ones have no entry in common
        p.grad.view(-1)[0 if agree and step != 300 else 1 + step] = 100.0 if step == 300 else 1.0
        muon.step()
        squares = muon.state[p]["momentum_buffer"].square().flatten()
        if step >= 300 and squares[301] > squares.sum() - squares[301]:
            last = step - 300
    assert last == int(steps)
    named = re.search(r"(\d+)–(\d+) steps", PAGE), re.search(r"(\d+) to (\d+) steps", QUESTIONS)
    assert all(int(one[1 if agree else 2]) == last for one in named)


def test_a_field_may_be_a_quotient_and_a_number_that_is_not_there_is_missed():
    fill = cheat_sheet.Shares().format
    assert fill("{a[0] / b[x]:.0%} {a[1]:.1f}", a=[1, 2], b={"x": 4}) == "25% 2.0"
    with pytest.raises(KeyError):
        fill("{a / nobody:.2f}", a=1)
