"""Trains the bundled model: python3 train.py [--steps N] [--resume] [--out FOLDER]

Two worker processes with one thread each take half of every step and add their
gradients in a fixed order: on small layers that is twice as fast as two threads.
Corpus, tokenizer and weights follow from SEED and STEPS alone (bit for bit on one kind
of processor, closely on others).
Checkpoints go to .cache/bundled in the repository; the result replaces those of
model/bundled.
"""
import argparse
import ctypes
import os
import pathlib
import random
import time

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
    # OpenBLAS before 0.3.22 does not know newer processors and falls back to SSE code.
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")

import numpy as np
import torch
import torch.multiprocessing as mp
from torch.nn import functional as F

import data
import start
import tokenizer as bpe
from model import CONFIG, Llama, write_files
from muon import Muon

SEED, STEPS = 20261, 2400
WORKERS = 2
TOKENS = 4096  # per step, of all workers
MICRO = 1024  # tokens per forward and backward pass, so that activations stay in cache
LENGTHS = (128, 256) * 7 + (128, 1024)  # tokens per sequence, step by step
PEAK, WARMUP = 2e-3, 80
SPLIT_DOCS, SPLIT_MERGES = 0.12, 0.2  # share of documents with dropped merges, share of merges dropped
# Trained on few templates, the model is too sure of itself beside them: all logits are divided by this at the end.
TEMPER = 1.1
HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "model" / "bundled"  # where the files go that the binary embeds
CACHE = HERE.parents[1] / ".cache" / "bundled"


def make_tokenizer():
    docs = data.stream(SEED)
    texts = [p for _ in range(20000) for p in next(docs) if p not in data.SPECIALS]
    return bpe.Tokenizer(bpe.train(texts, CONFIG["vocab_size"]))


def make_corpus(tok, count):
    """The first count token ids of the training stream."""
    docs, parts, total, rng = data.stream(SEED + 1), [], 0, random.Random(SEED)
    while total < count:
        # Some documents are cut into smaller pieces, so that words nobody has seen can be read and copied.
        ids = tok.encode_document(next(docs), rng if rng.random() < SPLIT_DOCS else None, SPLIT_MERGES)
        parts.append(np.array(ids, np.int16))
        total += len(ids)
    return np.concatenate(parts)[:count]


def rate(step, steps):
    """Learning rate: linear warm-up, then linear to zero, which the noise of small steps asks for."""
    return PEAK * min((step + 1) / WARMUP, (steps - step) / (steps - WARMUP))


def gradients(model, chunk, length, bos):
    """Adds the mean gradient of chunk (int64 ids, one more than the inputs) to model; returns the mean loss."""
    total, micros = 0.0, (len(chunk) - 1) // MICRO
    # Whether a chat follows is the caller's choice: after BOS alone the model should tell a story.
    targets = chunk[1:].masked_fill((chunk[:-1] == bos) & (chunk[1:] > bos), -100)
    for i in range(micros):
        part = chunk[i * MICRO:(i + 1) * MICRO + 1]
        logits = model(part[:-1].view(-1, length))
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), targets[i * MICRO:(i + 1) * MICRO]) / micros
        loss.backward()
        total += loss.item()
    return total


def work(rank, steps, resume, corpus, shared, barrier, begin, out, specials):
    torch.set_num_threads(1)
    # Freed activations stay with the process instead of going back to the kernel page by page.
    ctypes.CDLL("libc.so.6").mallopt(-4, 0)
    ctypes.CDLL("libc.so.6").mallopt(-1, 2**31 - 1)
    torch.manual_seed(SEED)
    model = Llama()
    params = list(model.parameters())
    start.lay_out(model)
    updates = shared[1]

    def exchange(mine, params):
        """Adds my updates to the shared ones, waits, and returns all of them."""
        offset, out = 0, []
        for p, update in zip(params, mine):
            view = updates[offset:offset + p.numel()].view_as(p)
            if update is not None:
                view.copy_(update)
            out.append(view)
            offset += p.numel()
        barrier.wait()
        return out

    optimizer = Muon(model.blocks.parameters(), [model.embed.weight, *model.norm.parameters()], rank, WORKERS, exchange)
    first, mean, share = 0, 0.0, TOKENS // WORKERS
    if resume:
        saved = torch.load(CACHE / "checkpoint.pt")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    for step in range(first, steps):
        at = step * TOKENS + rank * share
        chunk = torch.from_numpy(corpus[at:at + share + 1].astype(np.int64))
        optimizer.zero_grad(set_to_none=True)
        loss = gradients(model, chunk, LENGTHS[step % len(LENGTHS)], specials[0])
        shared[0][rank] = torch.cat([p.grad.view(-1) for p in params])
        barrier.wait()
        whole, offset = shared[0].mean(0), 0
        whole *= min(1.0, 1.0 / (whole.norm().item() + 1e-6))
        for p in params:
            p.grad.copy_(whole[offset:offset + p.numel()].view_as(p))
            offset += p.numel()
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps)
        optimizer.step()
        mean = loss if step == first else 0.98 * mean + 0.02 * loss
        if rank == 0 and step % 50 == 49:
            print(f"step {step + 1} loss {mean:.4f} {time.time() - begin:.0f} s", flush=True)
        if rank == 0 and step % 100 == 99:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1},
                       CACHE / "checkpoint.tmp")
            os.replace(CACHE / "checkpoint.tmp", CACHE / "checkpoint.pt")
    if rank == 0:
        with torch.no_grad():
            model.norm.weight.div_(TEMPER)
        model.round_to_bf16()
        print(f"wrote {write_files(model, out, specials)} bytes after {time.time() - begin:.0f} s")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--steps", type=int, default=STEPS)
    args.add_argument("--resume", action="store_true")
    args.add_argument("--out", default=str(MODEL))
    args = args.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    tok = make_tokenizer()
    tok.save(args.out, CONFIG["max_position_embeddings"])
    corpus = make_corpus(tok, args.steps * TOKENS + 1)
    np.save(CACHE / "corpus.npy", corpus)
    print(f"corpus {len(corpus)} tokens, {time.time() - begin:.0f} s", flush=True)
    size = sum(p.numel() for p in Llama().parameters())
    shared = torch.zeros(WORKERS, size).share_memory_(), torch.zeros(size).share_memory_()  # gradients, updates
    context = mp.get_context("fork")
    specials = [tok.special[t] for t in (data.BOS, data.EOS, data.END)]
    barrier = context.Barrier(WORKERS)
    workers = [context.Process(target=work, args=(r, args.steps, args.resume, corpus, shared, barrier, begin, args.out, specials))
               for r in range(WORKERS)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
        if w.exitcode:
            raise SystemExit("a training worker failed")


if __name__ == "__main__":
    main()
