"""Measures the committed weights: python3 evaluate.py [--golden] [--folder F]

Loss on held-out documents beside the n-gram baseline, and 100 sampled answers. With
--golden it also writes testdata/golden_logits.json for the Go forward pass.
"""
import argparse
import json
import re

import train  # sets the environment of the linear algebra library first
import numpy as np
import torch
from torch.nn import functional as F

import data
import ngram
from model import CONFIG, read_weights
from tokenizer import Tokenizer

HELD_TOKENS, LIMIT, TEMPERATURE = 60000, 200, 0.8
CHAT = ["Hello!", "Hi", "Who are you?", "What is your name?", "Tell me a story about a cat", "Tell me a story about a dragon.",
        "Tell me a story.", "What is the capital of France?", "What is 2 + 3?", "How are you today?", "Tell me a joke",
        "What can you do?", "Thank you!", "Explain quantum physics", "What is a river?", "Why is the sky blue?",
        "Write a poem about the moon.", "What does a cow say?", "Name three fruits.", "I am sad.", "Count to five.",
        "tell me a story about a robot", "How do I make tea?", "What colour is the grass?", "Goodbye!",
        "Tell me a story about a girl named Lily.", "What is the opposite of hot?", "Which is bigger, a dog or a whale?",
        "Write a story about a lost key", "My name is Bob.", "What day comes after Monday?", "Can you write code?",
        "Tell me a story about the sea.", "Give me a name for my dog.", "What does a baker do?", "hey",
        "Tell me a story about two friends", "What is the meaning of life?", "Do you like cake?", "Who made you?"]
PLAIN = ["Once upon a time", "Once upon a time there was a little", "One day", "Long ago", "The cat", "There once was a queen",
         "In a small house by the sea", "My name is", "On a rainy day", "It was a cold winter morning", "Tom and his dog",
         "A brave knight", "The old man", "Mia was afraid of", "Once there was a teapot", "Far away, behind the mountains",
         "This is the story of", "Every morning", "The king", "Many years ago", "Have you heard of", "Some people say",
         "Lily had a red ball", "When the moon", "A boy named Sam", "The little boat", "Deep in the forest", "One evening",
         "The farmer", "Today was", "Once upon a time, a lonely robot", "Ben found a key", "The wind", "Two friends",
         "Sara wanted to", "In the garden", "The baker", "A small dog named", "At the market", "Not far from here",
         "The dragon", "Anna lived", "It was", "Grandmother", "Everyone at the village", "A storm", "The princess", "Under the old bridge",
         "Max was a", "In spring", "Nobody knew", "Once", "A long time ago", "The fox", "She", "He was", "There was a", "I", "The", ""]


def held_documents(tok):
    docs, out, total = data.stream(train.SEED + 2, held=True), [], 0
    while total < HELD_TOKENS:
        out.append(tok.encode_document(next(docs)))
        total += len(out[-1])
    return out


def model_loss(model, docs):
    """Mean nats per token; each document stands alone, its bos and first token are given."""
    total, count = 0.0, 0
    with torch.no_grad():
        for ids in docs:
            ids = torch.tensor(ids[:CONFIG["max_position_embeddings"] + 1])
            logits = model(ids[None, :-1])[0, 1:]
            total += F.cross_entropy(logits, ids[2:], reduction="sum").item()
            count += len(ids) - 2
    return total / count


def generate(model, ids, ends, generator=None, limit=LIMIT):
    """Samples at TEMPERATURE, greedily without a generator; returns the new ids, with the end if reached."""
    past, out, feed = [[] for _ in range(CONFIG["num_hidden_layers"])], [], torch.tensor([ids])
    with torch.no_grad():
        while len(out) < limit and (not out or out[-1] not in ends):
            logits = model(feed, past)[0, -1]
            if generator is None:
                out.append(int(logits.argmax()))
            else:
                out.append(int(torch.multinomial((logits / TEMPERATURE).softmax(0), 1, generator=generator)))
            feed = torch.tensor([[out[-1]]])
    return out


def repeats(words, n):
    runs = [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]
    return len(set(runs)) < len(runs)


def prompts(tok):
    for text in CHAT:
        yield text, tok.encode_document([data.BOS, data.USER, text, data.END, data.ASSISTANT])
    for text in PLAIN:
        yield text, tok.encode_document([data.BOS, text])


def sample(model, tok, ends):
    generator = torch.Generator().manual_seed(train.SEED)
    ended, clean, runs, token_runs = 0, 0, [], []
    for i, (prompt, ids) in enumerate(prompts(tok)):
        out = generate(model, ids, ends, generator)
        ended += out[-1] in ends
        text = tok.decode([t for t in out if t not in ends])
        words = re.findall(r"\w+|[^\w\s]", text)
        clean += not repeats(words, 8)
        runs += [tuple(words[i:i + 3]) for i in range(len(words) - 2)]
        token_runs += [tuple(out[i:i + 3]) for i in range(len(out) - 2)]
        print(f"[{i}] {prompt} >>> {text}")
    print(f"ended {ended}/100, distinct-3 {len(set(runs)) / len(runs):.3f} of words, {len(set(token_runs)) / len(token_runs):.3f} of tokens "
          f"(all answers together), without repeated 8-gram {clean}/100")


def golden(model, tok, path):
    cases = []
    for pieces in ([data.BOS], [data.BOS, "Once upon a time"],
                   [data.BOS, data.USER, "What is the capital of France?", data.END, data.ASSISTANT]):
        ids = tok.encode_document(pieces)
        with torch.no_grad():
            top = model(torch.tensor([ids]))[0, -1].topk(8)
        cases.append({"text": "".join(pieces), "ids": ids, "top_ids": top.indices.tolist(),
                      "top_logits": [round(v, 6) for v in top.values.tolist()],
                      "greedy": generate(model, ids, (), limit=32)})
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"cases": cases}, f, indent=1)
        f.write("\n")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--golden", action="store_true")
    args.add_argument("--folder", default=str(train.MODEL))
    args = args.parse_args()
    torch.set_num_threads(1)
    tok = Tokenizer.load(args.folder + "/tokenizer.json")
    model = read_weights(args.folder + "/model.safetensors").eval()
    if args.golden:
        golden(model, tok, train.MODEL / "testdata" / "golden_logits.json")
    sample(model, tok, (tok.special[data.EOS], tok.special[data.END]))
    docs = held_documents(tok)
    bos = tok.special[data.BOS]
    held = np.concatenate([np.array(d, np.int64) for d in docs])
    mine = model_loss(model, docs)
    baseline = ngram.KneserNey(np.load(train.CACHE / "corpus.npy"), 4, CONFIG["vocab_size"], bos)
    best, discount = min((baseline.loss(held, d), d) for d in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95))
    print(f"held-out: {len(docs)} documents, {len(held)} tokens; model {mine:.3f} nats per token, "
          f"4-gram {best:.3f} (discount {discount}), difference {best - mine:.3f}")


if __name__ == "__main__":
    main()
