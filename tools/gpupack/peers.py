"""Decodes the shape of Llama 3.1 8B in PyTorch, compiled, with a static cache.

It prints Markdown rows like those of the tests: bandwidth, torch.matmul, and a decode step
at a context of 2,048 for batches of 1, 64 and 256. Weights are random. It needs PyTorch with
CUDA and nothing else. With --few everything is small.
"""

import sys
import time

import torch
import torch.nn.functional as F

FEW = "--few" in sys.argv
HIDDEN, MLP, LAYERS, HEADS, KV, HEAD, VOCAB = (64, 128, 2, 4, 2, 16, 256) if FEW else (4096, 14336, 32, 32, 8, 128, 128256)
CONTEXT, STEPS = (64, 4) if FEW else (2048, 50)
DEVICE, TYPE = "cuda", torch.bfloat16


def matrix(out, into):
    return torch.randn(out, into, device=DEVICE, dtype=TYPE) * into**-0.5


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = torch.nn.Parameter(torch.ones(HIDDEN, device=DEVICE, dtype=TYPE), requires_grad=False)
        self.norm2 = torch.nn.Parameter(torch.ones(HIDDEN, device=DEVICE, dtype=TYPE), requires_grad=False)
        parameter = lambda w: torch.nn.Parameter(w, requires_grad=False)
        self.qkv = parameter(matrix((HEADS + 2 * KV) * HEAD, HIDDEN))
        self.o = parameter(matrix(HIDDEN, HEADS * HEAD))
        self.gate_up = parameter(matrix(2 * MLP, HIDDEN))
        self.down = parameter(matrix(HIDDEN, MLP))

    def forward(self, x, keys, values, position, cos, sin, mask):
        batch = x.shape[0]
        qkv = F.linear(F.rms_norm(x, (HIDDEN,), self.norm1, 1e-5), self.qkv).view(batch, HEADS + 2 * KV, HEAD)
        q, k, v = qkv.split([HEADS, KV, KV], dim=1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        keys.index_copy_(2, position, k.unsqueeze(2))
        values.index_copy_(2, position, v.unsqueeze(2))
        a = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values, attn_mask=mask, enable_gqa=True)
        x = x + F.linear(a.reshape(batch, HEADS * HEAD), self.o)
        gate, up = F.linear(F.rms_norm(x, (HIDDEN,), self.norm2, 1e-5), self.gate_up).chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, self.down)


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Parameter(matrix(VOCAB, HIDDEN), requires_grad=False)
        self.head = torch.nn.Parameter(matrix(VOCAB, HIDDEN), requires_grad=False)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
        angles = torch.outer(torch.arange(CONTEXT + 1, device=DEVICE), 500000.0 ** (-torch.arange(HEAD // 2, device=DEVICE) * 2 / HEAD))
        self.register_buffer("cos", angles.cos().to(TYPE))
        self.register_buffer("sin", angles.sin().to(TYPE))
        self.register_buffer("positions", torch.arange(CONTEXT, device=DEVICE))

    def forward(self, tokens, position, cache):
        x = F.embedding(tokens, self.embedding)
        cos, sin = self.cos[position], self.sin[position]
        mask = (self.positions <= position)[None, None, None, :]
        for layer, (keys, values) in zip(self.layers, cache):
            x = layer(x, keys, values, position, cos, sin, mask)
        return F.linear(F.rms_norm(x, (HIDDEN,)), self.head).argmax(dim=-1)


def timed(f, runs):
    for _ in range(3):
        f()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(runs):
        f()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / runs


def row(what, seconds, rate):
    print(f"| PyTorch {torch.__version__} | {what} | {1e3 * seconds:.3f} ms | {rate} |", flush=True)


def ceilings():
    n = 256 if FEW else 8192
    a, b = matrix(n, n), matrix(n, n)
    seconds = timed(lambda: a @ b, 20)
    row(f"torch.matmul, bf16, {n} x {n} x {n}", seconds, f"{2 * n**3 / seconds / 1e12:.1f} TFLOP/s")
    x, y = (torch.zeros(1 << (20 if FEW else 31), device=DEVICE, dtype=torch.uint8) for _ in range(2))
    seconds = timed(lambda: y.copy_(x), 20)
    row("copy, read and written", seconds, f"{2 * x.numel() / seconds / 1e9:.0f} GB/s")


def decode(model, batch):
    need = batch * CONTEXT * LAYERS * KV * HEAD * 2 * 2
    if need > 0.9 * torch.cuda.mem_get_info()[0]:
        print(f"SKIPPED: a batch of {batch} needs {need} bytes of cache")
        return
    shape = (batch, KV, CONTEXT, HEAD)
    cache = [(torch.zeros(shape, device=DEVICE, dtype=TYPE), torch.zeros(shape, device=DEVICE, dtype=TYPE)) for _ in range(LAYERS)]
    step = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    tokens = torch.zeros(batch, device=DEVICE, dtype=torch.long)
    position = torch.full((1,), CONTEXT - 1, device=DEVICE, dtype=torch.long)
    seconds = timed(lambda: step(tokens, position, cache), STEPS)
    row(f"a step of {batch} rows at {CONTEXT}", seconds, f"{batch / seconds:.1f} tokens/s")


def main():
    torch.set_grad_enabled(False)
    print("| program | what | time | rate |\n|---|---|---|---|")
    failed = False
    model = None
    for name, part in [("ceilings", ceilings)] + [(f"a batch of {b}", lambda b=b: decode(model, b)) for b in ((1, 4) if FEW else (1, 64, 256))]:
        try:
            if model is None and name != "ceilings":
                model = Model()
            part()
            print(f"PASS: {name}")
        except Exception as error:  # one size may fail, the others still count
            print(f"FAIL: {name}: {type(error).__name__}: {str(error)[:500]}")
            failed = True
        torch._dynamo.reset()
        torch.cuda.empty_cache()
    sys.exit(failed)


if __name__ == "__main__":
    main()
