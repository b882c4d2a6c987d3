"""Byte-level BPE: training, encoding and the Hugging Face tokenizer files.

Ids: 0-255 the bytes in GPT-2's order, then the merges, then the special tokens. Digits
are never merged, so that numbers are read digit by digit.
"""
import collections
import json
import re

from data import BOS, EOS, SPECIALS

# GPT-2's pattern; the corpus is ASCII, where Python's classes say the same.
PATTERN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_chars():
    """byte -> printable character, as GPT-2 maps them, in GPT-2's order of ids."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table = {b: chr(b) for b in plain}
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + len(table) - len(plain))
    return table


CHARS = byte_chars()


def train(texts, vocab_size):
    """Returns the merges as pairs of strings, most frequent first, ties by text."""
    counts = collections.Counter()
    for text in texts:
        counts.update(PATTERN.findall(text))
    words = [(list("".join(CHARS[b] for b in w.encode())), n) for w, n in sorted(counts.items())]
    merges = []
    while len(merges) < vocab_size - 256 - len(SPECIALS):
        pairs = collections.Counter()
        for parts, n in words:
            for pair in zip(parts, parts[1:]):
                pairs[pair] += n
        best = max((p for p in pairs if not any(c.isdigit() for c in p[0] + p[1])), key=lambda p: (pairs[p], p))
        merges.append(best)
        for parts, _ in words:
            i = 0
            while i < len(parts) - 1:
                if parts[i] == best[0] and parts[i + 1] == best[1]:
                    parts[i:i + 2] = [best[0] + best[1]]
                i += 1
    return merges


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        self.rank = {m: i for i, m in enumerate(self.merges)}
        tokens = list(CHARS.values()) + [a + b for a, b in self.merges]
        assert len(set(tokens)) == len(tokens)
        self.vocab = {t: i for i, t in enumerate(tokens)}
        self.special = {t: len(tokens) + i for i, t in enumerate(SPECIALS)}
        self.size = len(tokens) + len(SPECIALS)
        self.cache = {}
        byte_of = {c: b for b, c in CHARS.items()}
        self.bytes = [bytes(byte_of[c] for c in t) for t in tokens] + [t.encode() for t in SPECIALS]

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as f:
            return cls(json.load(f)["model"]["merges"])

    def dropped(self, w, rng, p):
        """The pieces of w when every possible merge is passed over with chance p."""
        parts = [CHARS[b] for b in w.encode()]
        while True:
            pairs = [(self.rank[x], i) for i, x in enumerate(zip(parts, parts[1:])) if x in self.rank and rng.random() >= p]
            if not pairs:
                return [self.vocab[x] for x in parts]
            _, i = min(pairs)
            parts[i:i + 2] = [parts[i] + parts[i + 1]]

    def word(self, w):
        if w not in self.cache:
            parts = [CHARS[b] for b in w.encode()]
            while len(parts) > 1:
                rank, i = min((self.rank.get(p, 1 << 30), i) for i, p in enumerate(zip(parts, parts[1:])))
                if rank == 1 << 30:
                    break
                parts[i:i + 2] = [parts[i] + parts[i + 1]]
            self.cache[w] = [self.vocab[p] for p in parts]
        return self.cache[w]

    def encode(self, text, rng=None, p=0.0):
        """Ids of text; with rng, merges are dropped with chance p (training only)."""
        out = []
        for w in PATTERN.findall(text):
            out += self.dropped(w, rng, p) if rng else self.word(w)
        return out

    def encode_document(self, pieces, rng=None, p=0.0):
        """Ids of a document of data.py; special tokens stand as pieces of their own. rng, p: see encode."""
        out = []
        for piece in pieces:
            if piece in self.special:
                out.append(self.special[piece])
            else:
                out += self.encode(piece, rng, p)
        return out

    def decode(self, ids):
        return b"".join(self.bytes[i] for i in ids).decode("utf-8", "replace")

    def save(self, folder, context):
        """Writes tokenizer.json and tokenizer_config.json."""
        added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": True} for t, i in self.special.items()]
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        bos = {"SpecialToken": {"id": BOS, "type_id": 0}}
        doc = {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": level,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [bos, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {BOS: {"id": BOS, "ids": [self.special[BOS]], "tokens": [BOS]}}},
            "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": self.vocab, "merges": [list(m) for m in self.merges]}}
        config = {
            "added_tokens_decoder": {str(t["id"]): {k: t[k] for k in t if k != "id"} for t in added},
            "bos_token": BOS, "eos_token": EOS, "pad_token": EOS, "clean_up_tokenization_spaces": False,
            "model_max_length": context, "tokenizer_class": "PreTrainedTokenizerFast"}
        for name, value in (("tokenizer.json", doc), ("tokenizer_config.json", config)):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                json.dump(value, f, ensure_ascii=False, indent=1)
                f.write("\n")
