"""The baseline: an interpolated Kneser-Ney n-gram model over token ids."""
import numpy as np

BITS = 11  # per token id


def _keys(ids, n):
    """Packs every run of n ids into one integer, [len - n + 1]."""
    key = np.zeros(len(ids) - n + 1, np.int64)
    for i in range(n):
        key = (key << BITS) | ids[i:len(ids) - n + 1 + i].astype(np.int64)
    return key


class _Level:
    """Counts of one order: grams (context and token) and their contexts."""

    def __init__(self, grams, counts):
        self.grams, self.counts = grams, counts
        contexts = grams >> BITS
        self.contexts, start = np.unique(contexts, return_index=True)
        self.total = np.add.reduceat(counts, start)
        self.kinds = np.diff(np.append(start, len(grams)))

    def look(self, table, values, keys):
        at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
        return np.where(table[at] == keys, values[at], 0)


class KneserNey:
    """order-gram model; bos pads the left of each document, so no context crosses documents."""

    def __init__(self, ids, order, vocab, bos):
        self.order, self.vocab, self.bos, self.levels = order, vocab, bos, []
        ids = self._pad(ids)
        for n in range(1, order + 1):
            if n == order:
                grams, counts = np.unique(_keys(ids, n), return_counts=True)
            else:  # lower orders count the different tokens seen before
                longer = np.unique(_keys(ids, n + 1))
                grams, counts = np.unique(longer & ((1 << BITS * n) - 1), return_counts=True)
            self.levels.append(_Level(grams, counts))

    def _pad(self, ids):
        """Repeats each bos order - 1 times."""
        return np.repeat(ids, np.where(ids == self.bos, self.order - 1, 1))

    def loss(self, ids, discount):
        """Mean nats per token of ids, without the bos tokens and those right after them."""
        ids = self._pad(ids)
        ids = np.concatenate((np.full(self.order - 1, self.bos, ids.dtype), ids))
        full, p = _keys(ids, self.order), 1.0 / self.vocab
        for n, level in enumerate(self.levels, 1):
            gram = full & ((1 << BITS * n) - 1)
            context = gram >> BITS
            count = level.look(level.grams, level.counts, gram)
            total = level.look(level.contexts, level.total, context)
            kinds = level.look(level.contexts, level.kinds, context)
            safe = np.maximum(total, 1)
            p = np.where(total > 0, (np.maximum(count - discount, 0) + discount * kinds * p) / safe, p)
        return -np.log(p)[(ids[self.order - 1:] != self.bos) & (ids[self.order - 2:-1] != self.bos)].mean()
