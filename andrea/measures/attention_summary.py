"""Where each head looks, in four numbers: entropy, and the share on three particular tokens.

The softmax must spend all of its weight. A head that finds nothing to read still has to put it
somewhere, and learns to put it on the first token, whose values it keeps small: so little is moved.
``first_value`` measures that. Source: Xiao et al. 2023, "Efficient Streaming Language Models with
Attention Sinks", arXiv:2309.17453, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from andrea.results import Floats, read_only

FIRST_QUERY = 2  # from here on the first, the previous and the own token are three tokens


@dataclass(frozen=True)
class AttentionSummary:
    """Means over the query positions from 2 on, by block and head: float32 [L, H] each.

    ``entropy`` in nats (0: one token gets everything); ``first``, ``previous``, ``own``: share of
    the weight on BOS, on the token before, on the token itself; ``first_value``: length of BOS'
    value vector over the mean length of the others'.
    """

    entropy: Floats
    first: Floats
    previous: Floats
    own: Floats
    first_value: Floats


FIELDS = ("entropy", "first", "previous", "own", "first_value")


def summed(pattern: Tensor, value: Tensor) -> Tensor:
    """Return the five quantities of one block, summed over passages: (B, H, T, T) -> (5, H).

    Parameters
    ----------
    pattern
        (B, H, query, key), rows sum to 1.
    value
        (B, T, H, K), what is read.
    """
    rows = pattern[:, :, FIRST_QUERY:].double()  # (B, H, Q, T)
    entropy = -torch.xlogy(rows, rows).sum(-1)
    queries = torch.arange(FIRST_QUERY, pattern.shape[-1], device=pattern.device)
    picked = (torch.zeros_like(queries), queries - 1, queries)
    shares = [rows[:, :, queries - FIRST_QUERY, keys] for keys in picked]
    means = [x.mean(-1).sum(0) for x in (entropy, *shares)]
    lengths = value.double().norm(dim=-1)  # (B, T, H)
    means.append((lengths[:, 0] / lengths[:, 1:].mean(1)).sum(0))
    return torch.stack(means)


def summary(sums: Tensor, n: int) -> AttentionSummary:
    """Return means from sums (L, 5, H) over ``n`` passages."""
    return AttentionSummary(**{f: read_only(sums[:, k] / n) for k, f in enumerate(FIELDS)})
