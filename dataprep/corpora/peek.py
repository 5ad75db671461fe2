"""`dataprep peek`: one document of a corpus, or the one that a token is in: its text and where it came
from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.text import Text

from dataprep.corpora.restore import restore
from dataprep.corpora.tables import inputs_of, table_of, tokenizer_of
from dataprep.narrate import printable
from dataprep.tokenizers.decode import Decoder
from manifests.corpus import Corpus, open_corpus
from manifests.errors import UserError
from manifests.lists import Shard
from manifests.wording import did_you_mean

MAX_MATCHES = 10
SHOWN_CHARACTERS = 2000
SHOWN_TOKENS = 32


def peek(
    path: Path,
    document: str | None = None,
    token: int | None = None,
    shard: str | None = None,
    row: int | None = None,
    source: str | None = None,
    subset: str = "train",
) -> dict[str, Any]:
    """Return {"corpus", "documents": [...], "more": n}, each document with its place, its origin and its
    text.

    document     an own id, a content hash or shuffle key (32 hex digits), or file:position; at most ten are
                 found
    token        a number of a token of `source` and `subset`, its shards laid end to end as a trainer reads
                 them; without a source, of all shards in the order of the manifest. The document has
                 `token` then
    shard, row   a shard by name or number, and a row of it

    Reads the columns of every document table for an id, else a few pages. Raises UserError where nothing is
    found.
    """
    corpus = open_corpus(path)
    if source is not None and source not in corpus.manifest.sources:
        raise UserError(
            f"there is no source {source}{did_you_mean(source, list(corpus.manifest.sources))}",
            where=str(path),
        )
    given = [document is not None, token is not None, shard is not None]
    if sum(given) != 1:
        raise UserError(
            "say one of: a document, a token, a shard and row", hint="--doc, --token, or --shard and --row"
        )
    found: list[tuple[Shard, int, int | None]] = []
    more = 0
    if document is not None:
        for place in _named(corpus, document, source):
            if len(found) == MAX_MATCHES:
                more += 1
            else:
                found.append((*place, None))
    elif token is not None:
        found = [_holding(corpus, token, source, subset)]
    else:
        found = [(_shard(corpus, str(shard)), row or 0, None)]
        if not 0 <= found[0][1] < found[0][0].documents:
            raise UserError(
                f"the shard has the rows 0 to {found[0][0].documents - 1:,}, and no {row:,}",
                where=found[0][0].name,
            )
    if not found:
        raise UserError(
            f"no document is called {document!r}",
            where=str(path),
            hint="give its id, its content hash, or file:position",
        )
    decoder = Decoder(tokenizer_of(corpus))
    title = f"{corpus.manifest.corpus}@{corpus.manifest.version}"
    return {"corpus": title, "documents": [_shown(corpus, decoder, *each) for each in found], "more": more}


def _named(corpus: Corpus, document: str, source: str | None) -> Iterator[tuple[Shard, int]]:
    path, _, position = document.rpartition(":")
    is_hash = len(document) == 32 and all(char in "0123456789abcdef" for char in document)
    name = pa.scalar(document.encode(errors="surrogatepass"), pa.binary())  # what is no UTF-8 is no id
    columns = ["id", "path", "position", "content_hash", "key"]
    for shard in corpus.shards:
        if source is not None and shard.source != source:
            continue
        table = table_of(corpus, shard, columns)
        rows = _mask(pc.equal(table.column("id").cast(pa.binary()), name))
        for column in ("content_hash", "key") if is_hash else ():
            rows = rows | _mask(
                pc.equal(table.column(column), pa.scalar(bytes.fromhex(document), pa.binary(16)))
            )
        if path and position.isdecimal() and len(position) < 19:
            here = pc.equal(table.column("path"), path)
            rows = rows | _mask(pc.and_(here, pc.equal(table.column("position"), int(position))))
        for row in np.flatnonzero(rows).tolist():
            yield shard, row


def _mask(column: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(column, False)).astype(bool)


def _holding(corpus: Corpus, token: int, source: str | None, subset: str) -> tuple[Shard, int, int]:
    """The document that a token is in, and the token's number in its shard."""
    shards = corpus.shards if source is None else corpus.shards_of(source, subset)
    before = 0
    for shard in shards:
        if 0 <= token - before < shard.tokens:
            inside = token - before
            offsets = corpus.reader(shard).offsets
            return shard, int(np.searchsorted(offsets, inside, side="right")) - 1, inside
        before += shard.tokens
    whose = "the corpus" if source is None else f"the {subset} subset of {source}"
    raise UserError(f"{whose} has the tokens 0 to {before - 1:,}, and no {token:,}", where=str(corpus.folder))


def _shard(corpus: Corpus, name: str) -> Shard:
    named = {shard.name: shard for shard in corpus.shards}
    if name in named:
        return named[name]
    if name.isdecimal() and int(name) < len(corpus.shards):
        return corpus.shards[int(name)]
    raise UserError(
        f"there is no shard {name}{did_you_mean(name, list(named)[:1000])}",
        where=str(corpus.folder),
        hint=f"by number they are 0 to {len(corpus.shards) - 1}",
    )


def _shown(corpus: Corpus, decoder: Decoder, shard: Shard, row: int, token: int | None) -> dict[str, Any]:
    (restored,) = restore(corpus, shard, decoder, range(row, row + 1))
    (described,) = restored.table.to_pylist()
    strings, is_exact = restored.strings()
    before = 0
    for other in corpus.shards_of(shard.source, shard.subset):
        before += other.tokens if other.index < shard.index else 0
    reader = corpus.reader(shard)
    ids = reader.document(row)
    entry = inputs_of(corpus).get((shard.source, described["path"]))
    shown = {
        "source": shard.source,
        "subset": shard.subset,
        "shard": shard.name,
        "row": row,
        "token_start": described["token_start"],
        "token_start_in_source": before + described["token_start"],
        "tokens": described["tokens"],
        "first_ids": ids[:SHOWN_TOKENS].tolist(),
        "id": described["id"],
        "path": described["path"],
        "position": described["position"],
        "key": described["key"].hex(),
        "content_hash": described["content_hash"].hex(),
        "content_hash_of": corpus.manifest.sources[shard.source].content_hash,
        "fields": dict(described["fields"] or ()),
        "cluster_size": described["cluster_size"],
        "license": corpus.manifest.sources[shard.source].license,
        "input": None if entry is None else {"size_bytes": entry.size_bytes, "digest": entry.digest},
        "text": strings[0].as_py(),
        "text_bytes": described["text_bytes"],
        "is_exact": bool(is_exact[0]),
    }
    if token is not None:
        inside = token - described["token_start"]
        text = decoder.decode(ids[inside : inside + 1], np.ones(1, np.int64))[0]
        shown["token"] = {
            "in_shard": token,
            "in_document": inside,
            "id": int(ids[inside]),
            "text": text.decode("utf-8", errors="replace"),
        }
    return shown


def print_peek(found: Mapping[str, Any], console: Console) -> None:
    """Print what `peek` found, a block a document."""
    for each in found["documents"]:
        name = "" if each["id"] is None else f" {each['id']}"
        console.print(Text(printable(f"{each['source']} {each['subset']}{name}"), style="bold"))
        lines = [
            f"from    {each['path']}, position {each['position']:,}",
            f"shard   {each['shard']}, row {each['row']:,}, tokens {each['token_start']:,} to "
            f"{each['token_start'] + each['tokens']:,} ({each['token_start_in_source']:,} of the source)",
            f"hash    {each['content_hash']} (of its {each['content_hash_of']})",
        ]
        if each["input"] is not None:
            lines.append(f"input   {each['input']['size_bytes']:,} bytes, {each['input']['digest']}")
        if each["license"] is not None:
            lines.append(f"licence {each['license']}")
        if each["cluster_size"] > 1:
            lines.append(f"copies  {each['cluster_size']:,} documents that it stands for, itself included")
        lines += [f"{key:<7} {value}" for key, value in each["fields"].items()]
        if "token" in each:
            token = each["token"]
            lines.append(f"token   {token['in_document']:,} of the document: {token['id']} {token['text']!r}")
        for line in lines:
            console.print(Text(printable(f"  {line}")))
        if not each["is_exact"]:
            console.print(
                Text(
                    "  this is what the tokens spell; it may not be the text that was tokenized",
                    style="yellow",
                )
            )
        text = each["text"]
        more = (
            f"\n... and {len(text) - SHOWN_CHARACTERS:,} more characters"
            if len(text) > SHOWN_CHARACTERS
            else ""
        )
        console.print(
            Text(
                "\n"
                + "\n".join(printable(line) for line in text[:SHOWN_CHARACTERS].split("\n"))
                + more
                + "\n"
            )
        )
    if found["more"]:
        console.print(f"and {found['more']:,} more of this name")
