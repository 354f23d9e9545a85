"""The laboratory's numbers as one tidy CSV: a row a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from andrea.cli_gradients import command
from andrea.measures.gradients import GradientsResult

HEADER = "norm,residual,trained,init,n_layer,d_model,tokens,seed,quantity,place,value"


def rows(result: GradientsResult) -> Iterator[str]:
    """Yield one arm's values; ``place`` is the boundary (0: embeddings) or the block, from 1."""
    config, request = result.config, result.request
    arm = (
        f"{config.norm},{config.residual},{request.trained},{config.init},{config.n_layer},"
        f"{config.d_model},{request.tokens}"
    )
    quantities = [
        ("stream_grad_norms", result.stream_grad_norms, 0),
        ("token_cosine", result.token_cosine, 0),
        ("stream_norms", result.stream_norms, 0),
        ("loss", result.loss[:, None], 0),
        *((f"weight_grad_norms.{kind}", v, 1) for kind, v in result.weight_grad_norms.items()),
    ]
    for name, values, first in quantities:
        for s, i in np.ndindex(values.shape):
            yield f"{arm},{request.seeds[s]},{name},{i + first},{float(values[s, i])!r}"


def table(results: Sequence[GradientsResult]) -> bytes:
    """Return all results as CSV, with the commands and the weights' hashes in its head."""
    head = []
    for result in results:
        p = result.provenance
        head.append(f"# {command(result.request)}")
        head.append(f"# weights_sha256 {' '.join(result.weights_sha256)}")
        head.append(f"# {p.device_name}, {p.threads} threads, {p.date}")
    body = [row for result in results for row in rows(result)]
    return ("\n".join([*head, HEADER, *body]) + "\n").encode()
