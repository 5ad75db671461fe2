"""A Llama-style decoder: RMSNorm, RoPE, grouped-query attention, SwiGLU, no biases.

Shape suffixes, used in every tensor name of this folder:
    B rows    S tokens of a row    D width of the model    H query heads    K key/value heads
    E width of a head    F width of the feed-forward    V vocabulary

The forward pass maps tokens to logits and nothing else: the loss is in `loss.py`, the optimizer in
`trainer/optim.py`, sharding in `trainer/parallel/`. Weights are made on the meta device and filled by
`init_weights`, where every parameter has a generator of its own, keyed by its name, so the start does not
depend on world size or layout.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trainer.randomness import generator


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """Everything that decides the parameters of a transformer and their meaning."""

    vocab_size: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    ffn_dim: int
    max_sequence_length: int
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5
    tie_embeddings: bool = True
    dropout: float = 0.0

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads


def rope_tables(shape: TransformerShape, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines of RoPE (arXiv 2104.09864), float32 [S, E], in the half-split layout of Llama
    checkpoints.
    """
    exponent_E2 = torch.arange(0, shape.head_dim, 2, device=device, dtype=torch.float32) / shape.head_dim
    position_S = torch.arange(shape.max_sequence_length, device=device, dtype=torch.float32)
    angle_SE2 = torch.outer(position_S, shape.rope_theta**-exponent_E2)
    angle_SE = torch.cat((angle_SE2, angle_SE2), dim=-1)
    return angle_SE.cos(), angle_SE.sin()


def rotate(x_BHSE: Tensor, cos_SE: Tensor, sin_SE: Tensor) -> Tensor:
    """Turn each pair (i, i + E/2) of a head by the angle of its position."""
    first, second = x_BHSE.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (x_BHSE * cos_SE + turned * sin_SE).to(x_BHSE.dtype)


def document_mask(documents_BS: Tensor) -> Tensor:
    """Block-diagonal causal mask, bool [B, 1, S, S]: a token sees itself and earlier tokens of its own
    document.
    """
    length = documents_BS.shape[1]
    same_BSS = documents_BS[:, :, None] == documents_BS[:, None, :]
    causal_SS = torch.ones(length, length, dtype=torch.bool, device=documents_BS.device).tril()
    return (same_BSS & causal_SS)[:, None]


def attend(q_BHSE: Tensor, k_BKSE: Tensor, v_BKSE: Tensor, mask: Tensor | None) -> Tensor:
    """The one attention function: causal over the row, or under `mask` (bool, True = may look)."""
    grouped = q_BHSE.shape[1] != k_BKSE.shape[1]
    return F.scaled_dot_product_attention(
        q_BHSE, k_BKSE, v_BKSE, attn_mask=mask, is_causal=mask is None, enable_gqa=grouped
    )


class RMSNorm(nn.Module):
    """x / rms(x) * weight (arXiv 1910.07467), computed in float32."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = shape.heads, shape.kv_heads, shape.head_dim
        self.query = nn.Linear(shape.dim, shape.heads * shape.head_dim, bias=False)
        self.key = nn.Linear(shape.dim, shape.kv_heads * shape.head_dim, bias=False)
        self.value = nn.Linear(shape.dim, shape.kv_heads * shape.head_dim, bias=False)
        self.output = nn.Linear(shape.heads * shape.head_dim, shape.dim, bias=False)

    def forward(self, x_BSD: Tensor, cos_SE: Tensor, sin_SE: Tensor, mask: Tensor | None) -> Tensor:
        B, S, _ = x_BSD.shape
        q_BHSE = self.query(x_BSD).view(B, S, self.heads, self.head_dim).transpose(1, 2)
        k_BKSE = self.key(x_BSD).view(B, S, self.kv_heads, self.head_dim).transpose(1, 2)
        v_BKSE = self.value(x_BSD).view(B, S, self.kv_heads, self.head_dim).transpose(1, 2)
        seen_BHSE = attend(rotate(q_BHSE, cos_SE, sin_SE), rotate(k_BKSE, cos_SE, sin_SE), v_BKSE, mask)
        return self.output(seen_BHSE.transpose(1, 2).reshape(B, S, -1))


class FeedForward(nn.Module):
    """SwiGLU (arXiv 2002.05202)."""

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.gate = nn.Linear(shape.dim, shape.ffn_dim, bias=False)
        self.up = nn.Linear(shape.dim, shape.ffn_dim, bias=False)
        self.output = nn.Linear(shape.ffn_dim, shape.dim, bias=False)

    def forward(self, x_BSD: Tensor) -> Tensor:
        return self.output(F.silu(self.gate(x_BSD)) * self.up(x_BSD))


class Block(nn.Module):
    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(shape.dim, shape.norm_eps)
        self.attention = Attention(shape)
        self.ffn_norm = RMSNorm(shape.dim, shape.norm_eps)
        self.ffn = FeedForward(shape)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x_BSD: Tensor, cos_SE: Tensor, sin_SE: Tensor, mask: Tensor | None) -> Tensor:
        x_BSD = x_BSD + self.dropout(self.attention(self.attention_norm(x_BSD), cos_SE, sin_SE, mask))
        return x_BSD + self.dropout(self.ffn(self.ffn_norm(x_BSD)))


class Transformer(nn.Module):
    cos_SE: Tensor
    sin_SE: Tensor

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocab_size, shape.dim)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.dim, shape.norm_eps)
        self.head = nn.Linear(shape.dim, shape.vocab_size, bias=False)
        if shape.tie_embeddings:
            self.head.weight = self.embedding.weight
        # Not saved: a function of the shape. Filled by init_weights, since this runs on the meta device.
        tables = torch.empty(shape.max_sequence_length, shape.head_dim)
        self.register_buffer("cos_SE", tables, persistent=False)
        self.register_buffer("sin_SE", tables.clone(), persistent=False)

    def forward(
        self, tokens_BS: Tensor, documents_BS: Tensor | None = None, positions_BS: Tensor | None = None
    ) -> Tensor:
        """Token ids int64 [B, S] -> logits [B, S, V]. Where documents must not see each other, their numbers
        [B, S]; where positions do not count from the start of the row, those [B, S].
        """
        if positions_BS is None:
            length = tokens_BS.shape[1]
            cos_SE, sin_SE = self.cos_SE[:length], self.sin_SE[:length]
        else:  # [B, 1, S, E]: each row has its own, all heads of it the same
            cos_SE, sin_SE = self.cos_SE[positions_BS][:, None], self.sin_SE[positions_BS][:, None]
        mask = None if documents_BS is None else document_mask(documents_BS)
        x_BSD = self.embedding(tokens_BS)
        for block in self.blocks:
            x_BSD = block(x_BSD, cos_SE, sin_SE, mask)
        return self.head(self.norm(x_BSD))

    def num_parameters(self) -> int:
        """Parameters, a tied one counted once."""
        return sum(parameter.numel() for parameter in self.parameters())


def build_transformer(shape: TransformerShape, *, seed: int, device: torch.device) -> Transformer:
    """A transformer on `device` with its starting weights; the same for every world size and every device."""
    with torch.device("meta"):
        model = Transformer(shape)
    model = model.to_empty(device=device)
    if shape.tie_embeddings:
        model.head.weight = model.embedding.weight  # to_empty gives each name storage of its own
    init_weights(model, seed)
    return model


@torch.no_grad()
def init_weights(model: Transformer, seed: int) -> None:
    """Norms 1, matrices N(0, 0.02), the two outputs of a block smaller by sqrt(2 layers) (GPT-2's rule),
    drawn on the CPU.
    """
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            parameter.fill_(1.0)
            continue
        std = 0.02 / (2 * model.shape.layers) ** 0.5 if name.endswith("output.weight") else 0.02
        draw = torch.empty(parameter.shape).normal_(0.0, std, generator=generator(seed, "init", name))
        parameter.copy_(draw)
    cos_SE, sin_SE = rope_tables(model.shape, model.cos_SE.device)
    model.cos_SE.copy_(cos_SE)
    model.sin_SE.copy_(sin_SE)
