"""TransformerLens at ANDREA's size, in its own process and environment.

Started with the shape as JSON; for every line on standard input it runs once with its cache and
answers with a line of JSON, ``{"seconds": ...}`` of processor time. Imports nothing of ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"


def main() -> None:
    """Build the model, then answer line by line."""
    shape = json.loads(sys.argv[1])
    with contextlib.redirect_stdout(sys.stderr):  # the library talks while it is loaded
        import torch
        from transformer_lens import HookedTransformer, HookedTransformerConfig

        torch.set_num_threads(1)
        model = HookedTransformer(
            HookedTransformerConfig(
                n_layers=shape["n_layer"],
                d_model=shape["d_model"],
                n_heads=shape["n_head"],
                d_head=shape["d_model"] // shape["n_head"],
                d_mlp=shape["d_mlp"],
                n_ctx=shape["n_ctx"],
                d_vocab=shape["vocab_size"],
                act_fn="gelu_new",
                normalization_type="LN",
                device="cpu",
                seed=0,
            )
        ).eval()
    random = torch.Generator().manual_seed(0)
    text = torch.randint(shape["vocab_size"], (1, shape["tokens"]), generator=random)
    with torch.inference_mode():
        for _ in sys.stdin:
            start = time.process_time()
            kept = model.run_with_cache(text)
            seconds = time.process_time() - start
            del kept
            print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
