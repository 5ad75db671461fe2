"""The transformer: shapes, start, causality, and the document mask against documents trained apart."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from trainer.model.loss import row_losses
from trainer.model.transformer import Transformer, TransformerShape, build_transformer, document_mask
from trainer.optim import parameter_groups

CPU = torch.device("cpu")
SHAPE = TransformerShape(
    vocab_size=64, dim=32, layers=2, heads=4, kv_heads=2, ffn_dim=48, max_sequence_length=24
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def model(seed: int = 5, **changes: object) -> Transformer:
    fields = {name: getattr(SHAPE, name) for name in SHAPE.__dataclass_fields__}
    return build_transformer(TransformerShape(**{**fields, **changes}), seed=seed, device=CPU)  # type: ignore[arg-type]


def tokens(rows: int, length: int) -> Tensor:
    return torch.randint(0, 64, (rows, length), generator=torch.Generator().manual_seed(3))


def test_logits_have_the_vocabulary_and_tied_weights_are_one() -> None:
    tied, untied = model(), model(tie_embeddings=False)
    assert tied(tokens(2, 24)).shape == (2, 24, 64)
    assert tied.head.weight is tied.embedding.weight
    assert untied.num_parameters() - tied.num_parameters() == 64 * 32
    per_layer = 32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 48 + 2 * 32
    assert tied.num_parameters() == 64 * 32 + 2 * per_layer + 32


def test_start_is_a_function_of_seed_and_name() -> None:
    one, same, other = model(), model(), model(seed=6)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.embedding.weight, other.embedding.weight)
    # A deeper model starts with the same weights where names are the same: no draw depends on the ones before
    # it.
    deeper = dict(model(layers=3).named_parameters())
    assert torch.equal(deeper["embedding.weight"], one.embedding.weight)
    assert torch.equal(
        deeper["blocks.1.attention.query.weight"],
        dict(one.named_parameters())["blocks.1.attention.query.weight"],
    )


def test_start_is_scaled() -> None:
    weights = dict(model(dim=256, ffn_dim=256).named_parameters())
    assert weights["blocks.0.ffn.gate.weight"].std().item() == pytest.approx(0.02, rel=0.02)
    assert weights["blocks.0.ffn.output.weight"].std().item() == pytest.approx(0.01, rel=0.02)


def test_later_tokens_do_not_change_earlier_logits() -> None:
    network, x = model(), tokens(1, 24)
    changed = x.clone()
    changed[0, 12] = (changed[0, 12] + 1) % 64
    before, after = network(x), network(changed)
    assert torch.equal(before[:, :12], after[:, :12])
    assert not torch.allclose(before[:, 12:], after[:, 12:])


def test_grouped_heads_equal_repeated_heads() -> None:
    grouped = model()
    repeated = model(kv_heads=4)
    weights = dict(grouped.named_parameters())
    with torch.no_grad():
        for name, parameter in repeated.named_parameters():
            source = weights[name]
            if name.endswith(("key.weight", "value.weight")):
                source = source.view(2, 8, 32).repeat_interleave(2, dim=0).reshape(32, 32)
            parameter.copy_(source)
    torch.testing.assert_close(grouped(tokens(2, 24)), repeated(tokens(2, 24)))


def test_mask_is_block_diagonal_and_causal() -> None:
    mask = document_mask(torch.tensor([[0, 0, 1, 1, 1]]))[0, 0]
    expected = torch.tensor(
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 1]]
    )
    assert torch.equal(mask, expected.bool())


def gradients(network: Transformer, losses: Tensor) -> dict[str, Tensor]:
    network.zero_grad()
    losses.sum().backward()
    return {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}


def test_a_masked_row_equals_its_documents_apart() -> None:
    """Loss and gradient of a packed row are those of its documents as rows of their own: RoPE is relative."""
    network = model()
    row = tokens(1, 25)
    cuts = [0, 7, 16, 24]  # documents of 7, 9 and 8 input tokens; the last target is inside the last document
    documents = torch.zeros(1, 24, dtype=torch.int32)
    trained = torch.ones(1, 24, dtype=torch.bool)
    for cut in cuts[1:-1]:
        documents[0, cut:] += 1
        trained[0, cut - 1] = False  # that target is the first token of the next document
    packed = row_losses(network(row[:, :-1], documents), row[:, 1:], trained)
    packed_gradients = gradients(network, packed)

    apart = torch.zeros(())
    for start, end in itertools.pairwise(cuts):
        length = end - start if end == 24 else end - start - 1
        piece = row[:, start : start + length + 1]
        apart = (
            apart
            + row_losses(network(piece[:, :-1]), piece[:, 1:], torch.ones(1, length, dtype=torch.bool)).sum()
        )
    torch.testing.assert_close(packed.sum(), apart)
    apart_gradients = gradients(network, apart)
    for name, gradient in apart_gradients.items():
        torch.testing.assert_close(packed_gradients[name], gradient, atol=1e-5, rtol=1e-4)
    # With positions that begin anew nothing is left of where a document lies in its row.
    positions = torch.cat([torch.arange(end - start) for start, end in itertools.pairwise(cuts)])[None]
    anew = row_losses(network(row[:, :-1], documents, positions.int()), row[:, 1:], trained)
    torch.testing.assert_close(anew.sum(), apart)
    for name, gradient in gradients(network, anew).items():
        torch.testing.assert_close(gradient, apart_gradients[name], atol=1e-5, rtol=1e-4)
    # The same row without the mask gives something else, so the comparison can fail.
    unmasked = row_losses(network(row[:, :-1]), row[:, 1:], trained)
    assert abs(unmasked.sum() - apart).item() > 1e-4


def test_losses_are_summed_over_trained_targets_only() -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    targets = torch.tensor([[1, 2, 3], [0, 4, 2]])
    trained = torch.tensor([[True, False, True], [False, False, False]])
    losses = row_losses(logits, targets, trained)
    log_p = logits.log_softmax(-1)
    torch.testing.assert_close(losses[0], -(log_p[0, 0, 1] + log_p[0, 2, 3]))
    assert losses[1] == 0
    losses.sum().backward()
    assert logits.grad is not None
    assert logits.grad[0, 1].abs().max() == 0 and logits.grad[1].abs().max() == 0


def test_groups_hold_each_parameter_once_and_norms_do_not_decay() -> None:
    network = model()
    decaying, constant = parameter_groups(network, 0.1)
    assert decaying["weight_decay"] == 0.1 and constant["weight_decay"] == 0.0
    assert all(p.dim() == 2 for p in decaying["params"]) and all(p.dim() == 1 for p in constant["params"])
    listed = [id(p) for group in (decaying, constant) for p in group["params"]]
    assert sorted(listed) == sorted(id(p) for p in network.parameters())
