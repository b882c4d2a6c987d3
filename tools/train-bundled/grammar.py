"""A small seeded text grammar with a built-in held-out split.

A template is a string. `[a|b|c]` picks one alternative, `{list}` picks a word of a
named list, `{list=x}` also binds it to x, and `{x}` repeats a binding. Every list, of
words or of templates, is split by position: items with index % 8 == 5 are held out.
A training grammar never picks them; a held-out grammar picks nothing else wherever a
list has such items, so its documents use sentences and words never seen in training.
"""
import random
import re

_ALT = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)(?:=(\w+))?\}")
_AN = re.compile(r"\b([Aa]) (?=[aeiouAEIOU]|honest|hour)")
_CAP = re.compile(r'(^"?|[.!?] "?)([a-z])')


def is_held(index):
    """Whether the item at this position of any list belongs to the held-out split."""
    return index % 8 == 5


class Grammar:
    """Expands templates. words: name -> list of strings; held: which side of the split."""

    def __init__(self, words, seed, held=False):
        self.words, self.held, self.rng = words, held, random.Random(seed)
        self._side = {}

    def side(self, items):
        """The items of a list that this side of the split may use."""
        key = id(items)
        if key not in self._side:
            part = [x for i, x in enumerate(items) if is_held(i) == self.held]
            self._side[key] = (items, part or list(items))
        return self._side[key][1]

    def pick(self, items):
        return self.rng.choice(self.side(items))

    def chance(self, p):
        return self.rng.random() < p

    def fill(self, template, bind=None):
        """Expands one template; bind holds bindings and receives new ones."""
        bind = {} if bind is None else bind
        while True:
            m = _ALT.search(template)
            if not m:
                break
            template = template[: m.start()] + self.rng.choice(m.group(1).split("|")) + template[m.end():]

        def slot(m):
            source, name = m.group(1), m.group(2)
            if name is None and source in bind:
                return bind[source]
            used = set(bind.values())
            word = self.pick(self.words[source])
            for _ in range(8):
                if word not in used:
                    break
                word = self.pick(self.words[source])
            if "{" in word or "[" in word:
                word = self.fill(word, bind)
            bind[name or "_" + str(len(bind))] = word
            return word

        while _SLOT.search(template):
            template = _SLOT.sub(slot, template, count=1)
        return template

    def say(self, templates, bind=None):
        """Picks a template from a list, expands and tidies it."""
        return tidy(self.fill(self.pick(templates), bind))


def tidy(text):
    """Fixes articles, sentence capitals and spaces after expansion."""
    text = re.sub(r" +", " ", text).strip().replace(" .", ".").replace(" ,", ",")
    text = _AN.sub(r"\1n ", text)
    return _CAP.sub(lambda m: m.group(1) + m.group(2).upper(), text)
