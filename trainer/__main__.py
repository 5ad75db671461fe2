"""`python -m trainer`, which is also how torchrun starts a rank: `torchrun --nproc-per-node 2 -m trainer run
train.yaml`.
"""

from __future__ import annotations

from trainer.cli import main

if __name__ == "__main__":
    main()
