"""The corpus: an endless seeded stream of documents, for training or held out.

A document is a list of pieces; a piece is text or the name of a special token in
SPECIALS order. `python3 data.py [count] [--held]` prints samples.
"""
import re
import sys

import chats
import questions
import wide
from grammar import Grammar, is_held, tidy
from stories import story
from words import LISTS

ALL = {**LISTS, **wide.WORDS}

BOS, EOS, SYSTEM, USER, ASSISTANT, END = SPECIALS = [
    "<|bos|>", "<|eos|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
WIDE = 0.10  # share of documents of free sentences; stories and chats contain some more
DIARY = ["My name is {N}. I live [near|by] the {place} with my {family}.", "I have {a} {animal} and {a} {athing} {thing}.", "Today was {a} {weather} day.", "I went to the {place} and saw {a} {animal}.", "For lunch we had {food} and {food}, which I like very much.",
         "I can {skill}, but I cannot {skill}.", "My best friend is called {N2}. We play {game} together.", "At first I was {sad}, but now I am {glad}.", "Tomorrow I want to go to the {place}.", "My {family} says that I am {adj}."]


def diary(g):
    bind = {"N": chats.name(g), "N2": chats.name(g), "a": "a"}
    lines = g.rng.sample(g.side(DIARY), min(len(g.side(DIARY)), g.rng.randrange(3, 7)))
    return tidy(" ".join(g.fill(t, dict(bind)) for t in lines))


def notes(g):
    """A few facts in a row."""
    kinds = [questions.capital, questions.colour, questions.opposite, questions.animal, questions.world]
    return " ".join(g.rng.choice(kinds)(g)[1] for _ in range(g.rng.randrange(2, 5)))


def document(g):
    if not g.held and g.chance(WIDE):
        return [BOS, wide.paragraph(g), EOS]
    roll = g.rng.random()
    if roll < 0.60:
        pieces = [BOS]
        for role, text in chats.chat(g):
            pieces += ["<|" + role + "|>", text, END]
        return pieces
    if roll < 0.92:
        text = story(g, short=g.chance(0.3))
        if g.chance(0.08):
            text = text[text.find(". ") + 2:]
    elif roll < 0.97:
        text = diary(g)
    else:
        text = notes(g)
    return [BOS, text, EOS]


def held_words():
    """A pattern that finds any held-out word of the story lists."""
    words = {w for items in LISTS.values() for i, w in enumerate(items) if is_held(i)}
    return re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, words))) + r")s?\b", re.IGNORECASE)


def stream(seed, held=False):
    """Yields documents for ever; held: from the held-out templates and words only.

    Templates and facts may name a held-out word on their own; such training documents are left out.
    """
    g, foreign = Grammar(ALL, seed, held), held_words()
    while True:
        pieces = document(g)
        if held or not any(foreign.search(p) for p in pieces if p not in SPECIALS):
            yield pieces


if __name__ == "__main__":
    docs = stream(1, "--held" in sys.argv)
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10):
        print("".join(next(docs)) + "\n")
