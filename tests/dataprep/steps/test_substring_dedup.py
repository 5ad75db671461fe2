from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from dataprep.steps.substring_dedup import SubstringDedupParams, TokenizerFile


def test_defaults() -> None:
    params = SubstringDedupParams()
    assert (params.tokens, params.num_tokens) == ("bytes", 200)
    params = SubstringDedupParams.model_validate({"tokens": {"file": "gpt2.json"}})
    assert params.tokens == TokenizerFile(file="gpt2.json")
    assert params.num_tokens == 50
    assert SubstringDedupParams(length=100).num_tokens == 100


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": "gpt2"},
        {"tokens": {"file": ""}},
        {"length": 1},
        {"keep": ["longest", "longest"]},
        {"within": "split"},
        {"within": {"field": "site"}},
    ],
)
def test_what_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SubstringDedupParams.model_validate(wrong)
