"""An independent stack from PyTorch's own layers, to check ours and to be timed beside it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from andrea.model import Andrea


class Reference(nn.Module):
    """The same model from PyTorch's own layers, filled with our weights."""

    def __init__(self, model: Andrea) -> None:
        super().__init__()
        c = model.config
        self.wte, self.wpe = nn.Embedding(c.vocab_size, c.d_model), nn.Embedding(c.n_ctx, c.d_model)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                c.d_model,
                c.n_head,
                c.hidden,
                dropout=0.0,
                activation=lambda x: F.gelu(x, approximate="tanh"),
                batch_first=True,
                norm_first=c.norm == "pre",
            )
            for _ in range(c.n_layer)
        )
        self.ln = nn.LayerNorm(c.d_model) if c.norm == "pre" else nn.Identity()
        with torch.no_grad():
            self.wte.weight.copy_(model.wte)
            self.wpe.weight.copy_(model.wpe)
            for layer, block in zip(self.layers, model.blocks, strict=True):
                a, m = block.attn, block.mlp
                layer.self_attn.in_proj_weight.copy_(torch.cat([a.W_Q.T, a.W_K.T, a.W_V.T]))
                layer.self_attn.in_proj_bias.copy_(torch.cat([a.b_Q, a.b_K, a.b_V]))
                layer.self_attn.out_proj.weight.copy_(a.W_O.T)
                layer.self_attn.out_proj.bias.copy_(a.b_O)
                layer.linear1.weight.copy_(m.W_1.T)
                layer.linear2.weight.copy_(m.W_2.T)
                layer.linear1.bias.copy_(m.b_1)
                layer.linear2.bias.copy_(m.b_2)

    def loss(self, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
        T = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        streams = [self.wte(ids) + self.wpe(torch.arange(T))]
        for layer in self.layers:
            streams.append(layer(streams[-1], src_mask=mask, is_causal=True))
        logits = self.ln(streams[-1]) @ self.wte.weight.T
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()), streams
