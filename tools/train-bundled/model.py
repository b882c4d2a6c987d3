"""The Llama model in PyTorch, and its Hugging Face files."""
import hashlib
import json
import struct

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 192,
    "intermediate_size": 320, "num_hidden_layers": 6, "num_attention_heads": 6, "num_key_value_heads": 2,
    "head_dim": 32, "max_position_embeddings": 1024, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "rope_scaling": None, "attention_bias": False, "mlp_bias": False, "attention_dropout": 0.0,
    "tie_word_embeddings": True, "initializer_range": 0.04, "vocab_size": 1280, "torch_dtype": "bfloat16",
    "use_cache": True, "pretraining_tp": 1,
}
HIDDEN, INNER, LAYERS = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["num_hidden_layers"]
HEADS, KV, DIM = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], CONFIG["head_dim"]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]) * self.weight


def rope_tables(length):
    """cos and sin [length, DIM] in the rotate-half layout."""
    freq = CONFIG["rope_theta"] ** (-torch.arange(0, DIM, 2).float() / DIM)
    angle = torch.outer(torch.arange(length).float(), freq)
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    half = DIM // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Block(nn.Module):
    """One layer; q, k, v and gate, up are fused here and split when written."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.qkv = nn.Linear(HIDDEN, (HEADS + 2 * KV) * DIM, bias=False)
        self.out = nn.Linear(HEADS * DIM, HIDDEN, bias=False)
        self.gate_up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x, cos, sin, mask, past=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).split((HEADS * DIM, KV * DIM, KV * DIM), -1)
        q = rotate(q.view(b, t, HEADS, DIM).transpose(1, 2), cos, sin)
        k = rotate(k.view(b, t, KV, DIM).transpose(1, 2), cos, sin)
        v = v.view(b, t, KV, DIM).transpose(1, 2)
        if past is not None:
            if past:
                k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
            past[:] = [k, v]
        # Query heads of one KV head are rows of one product: head h reads KV head h // (HEADS / KV).
        q = q.reshape(b, KV, (HEADS // KV) * t, DIM) * DIM ** -0.5
        score = (q @ k.transpose(2, 3)).view(b, KV, HEADS // KV, t, k.shape[2]) + mask
        mix = score.softmax(-1).view(b, KV, (HEADS // KV) * t, -1) @ v
        x = x + self.out(mix.view(b, HEADS, t, DIM).transpose(1, 2).reshape(b, t, HEADS * DIM))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CONFIG["vocab_size"], HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = Norm()
        self.cos, self.sin = rope_tables(CONFIG["max_position_embeddings"])
        n = CONFIG["max_position_embeddings"]
        self.mask = torch.full((n, n), float("-inf")).triu(1)
        std = CONFIG["initializer_range"]
        for name, p in self.named_parameters():
            if p.dim() == 2:
                last = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(p, std=std / (2 * LAYERS) ** 0.5 if last else std)

    def forward(self, ids, past=None):
        """ids [batch, tokens] -> logits [batch, tokens, vocab]. past: one list per layer, a KV cache."""
        start = past[0][0].shape[2] if past and past[0] else 0
        end = start + ids.shape[1]
        x = self.embed(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, self.cos[start:end], self.sin[start:end], self.mask[start:end, :end], past[i] if past else None)
        return F.linear(self.norm(x), self.embed.weight)

    def tensors(self):
        """Hugging Face's names -> tensors."""
        out = {"model.embed_tokens.weight": self.embed.weight, "model.norm.weight": self.norm.weight}
        for i, b in enumerate(self.blocks):
            p = f"model.layers.{i}."
            q, k, v = b.qkv.weight.split((HEADS * DIM, KV * DIM, KV * DIM))
            gate, up = b.gate_up.weight.chunk(2)
            out.update({
                p + "input_layernorm.weight": b.norm1.weight, p + "post_attention_layernorm.weight": b.norm2.weight,
                p + "self_attn.q_proj.weight": q, p + "self_attn.k_proj.weight": k, p + "self_attn.v_proj.weight": v,
                p + "self_attn.o_proj.weight": b.out.weight, p + "mlp.gate_proj.weight": gate,
                p + "mlp.up_proj.weight": up, p + "mlp.down_proj.weight": b.down.weight})
        return out

    def round_to_bf16(self):
        """Rounds the weights to what the file holds; arithmetic stays in F32."""
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(p.bfloat16().float())


def write_files(model, folder, specials):
    """Writes model.safetensors (BF16), config.json, generation_config.json and SHA256SUMS."""
    header, blobs, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name, t in sorted(model.tensors().items()):
        bits = t.detach().bfloat16().contiguous().view(torch.int16).numpy().astype("<i2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(t.shape), "data_offsets": [offset, offset + len(bits)]}
        blobs.append(bits)
        offset += len(bits)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    data = struct.pack("<Q", len(head)) + head + b"".join(blobs)
    with open(f"{folder}/model.safetensors", "wb") as f:
        f.write(data)
    bos, eos, end = specials
    config = dict(CONFIG, bos_token_id=bos, eos_token_id=eos)
    generation = {"bos_token_id": bos, "eos_token_id": [eos, end], "do_sample": True, "temperature": 0.8, "top_p": 0.95}
    for name, value in (("config.json", config), ("generation_config.json", generation)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            json.dump(value, f, indent=2)
            f.write("\n")
    with open(f"{folder}/SHA256SUMS", "w", encoding="utf-8") as f:
        f.write(f"{hashlib.sha256(data).hexdigest()}  model.safetensors\n")
    return len(data)


def read_weights(path):
    """A model with the weights of a safetensors file written above."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    model = Llama()
    with torch.no_grad():
        for name, t in model.tensors().items():
            a, b = header[name]["data_offsets"]
            bits = np.frombuffer(data[8 + size + a:8 + size + b], "<i2").copy()
            t.copy_(torch.from_numpy(bits).view(torch.bfloat16).float().view(t.shape))
    return model
