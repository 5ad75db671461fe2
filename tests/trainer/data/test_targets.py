from __future__ import annotations

import numpy as np

from trainer.data.targets import CLASSES, CUT, EXCLUDED, MASKED, PADDING, TRAINED, classify


def test_names_follow_the_numbers() -> None:
    numbers = dict(zip(CLASSES, range(5), strict=True))
    assert numbers == {
        "trained": TRAINED,
        "masked": MASKED,
        "padding": PADDING,
        "cut": CUT,
        "excluded": EXCLUDED,
    }


def test_without_the_mask_every_target_is_trained() -> None:
    assert classify(np.array([0, 3, 4]), 4, False).tolist() == [TRAINED] * 4


def test_with_the_mask_the_first_token_of_a_document_is_no_target() -> None:
    # Tokens 0 to 4; the row's own first token is never a target, the last token always is.
    assert classify(np.array([0, 3, 4]), 4, True).tolist() == [TRAINED, TRAINED, MASKED, MASKED]
    assert classify(np.array([1]), 4, True).tolist() == [MASKED, TRAINED, TRAINED, TRAINED]
    assert classify(np.array([], np.int64), 2, True).tolist() == [TRAINED, TRAINED]
