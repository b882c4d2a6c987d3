"""The start of training: heads that look at the token before, and heads that copy.

From random weights a model this small needs tens of millions of tokens before it finds
that a word may be repeated from earlier in the text, since two layers must learn their
halves of it at once. Here both halves are laid out roughly, and training does the rest.
Layer 0 gets heads that attend to the token one, two and three back: every embedding gets
a common component, which becomes a constant query and key that RoPE turns by the
distance. Layers 1 to 3 get a head each that looks for a place whose preceding token
equals the present one, and writes what stands there.
"""
import torch

from model import CONFIG, DIM, HEADS, HIDDEN, KV

SHARP, MATCH, COPY = 0.55, 0.4, 0.3
FAST, SLOW = 7, 8  # rotation pairs [0, FAST) tell neighbours apart, pairs [SLOW, DIM / 2) hardly turn


def rows(block, kind, head):
    """The rows of one head in the fused query, key or value weights, as a view."""
    base = {"q": 0, "k": HEADS * DIM, "v": (HEADS + KV) * DIM}[kind]
    return block.qkv.weight[base + head * DIM:base + (head + 1) * DIM]


@torch.no_grad()
def lay_out(model):
    common = torch.zeros(HIDDEN)
    common[0] = model.embed.weight.norm(dim=1).mean()
    model.embed.weight[:, 0] = 0
    model.embed.weight.add_(common)
    half, first = DIM // 2, model.blocks[0]
    speed = CONFIG["rope_theta"] ** (-torch.arange(half).float() / half)
    unit = common / common.norm()

    key = torch.zeros(DIM)
    key[:FAST] = SHARP
    rows(first, "k", 0).copy_(torch.outer(key, unit))
    for head in range(HEADS // KV):
        turn = -(head + 1) * speed[:FAST]
        query = torch.zeros(DIM)
        query[:FAST], query[half:half + FAST] = SHARP * turn.cos(), SHARP * turn.sin()
        rows(first, "q", head).copy_(torch.outer(query, unit))
    # The head for the token just before writes a sketch of it that the next layers can read back.
    sketch = torch.randn(DIM, HIDDEN) / DIM ** 0.5
    sketch[:, 0] = 0
    slow = torch.cat((torch.arange(SLOW, half), torch.arange(half + SLOW, DIM)))
    place = torch.zeros(DIM, DIM)
    place[slow, torch.arange(len(slow))] = 1
    write = torch.linalg.qr(torch.randn(HIDDEN, DIM))[0]
    write[0] = 0
    rows(first, "v", 0).copy_(sketch * 0.2)
    first.out.weight[:, :DIM] = write * 0.2
    for block in list(model.blocks)[1:4]:
        rows(block, "k", 0).copy_(place @ write.t() * MATCH * 6)
        rows(block, "q", 0).copy_(place @ sketch * MATCH * 3)
        carry = torch.randn(DIM, HIDDEN) / HIDDEN ** 0.5
        carry[:, 0] = 0
        rows(block, "v", 0).copy_(carry)
        block.out.weight[:, :DIM] = carry.t() * COPY
