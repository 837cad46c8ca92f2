"""Documents indexed anew from what is stored of them, where a mapping has gained fields."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import tantivy

from nwx.engine.embedded.documents.searcher import DocumentSearcher, tantivy_errors
from nwx.engine.embedded.documents.tantivy_index import NUM, Packer, entry_of, schema
from nwx.engine.embedded.text_writer import TextWriter


def rebuild_older_index(folder: Path) -> None:
    """Index the documents of a folder anew where its index has another schema.

    The caller has the archive's lock. The new index takes the place of the
    old one at the end; what an interrupted rebuild left is put right first.
    """
    old, new = folder.with_name(f"{folder.name}.old"), folder.with_name(f"{folder.name}.new")
    if old.exists() and not (folder / "meta.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        old.rename(folder)
    for left_behind in (old, new):
        shutil.rmtree(left_behind, ignore_errors=True)
    with tantivy_errors():
        if not folder.exists() or not tantivy.Index.exists(str(folder)):
            return
        index = tantivy.Index.open(str(folder))
    if index.schema == schema():
        return
    new.mkdir()
    writer, packer = TextWriter(new), Packer()
    writer.add(
        packer.document(num, entry_of(document))
        for num, document in _documents(DocumentSearcher(index.searcher()))
    )
    writer.commit()
    writer.finish()
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old)


def _documents(searcher: DocumentSearcher) -> Iterator[tuple[int, tantivy.Document]]:
    everything, most = tantivy.Query.all_query(), max(searcher.num_docs, 1)
    found = searcher.search(everything, most, order_by_field=NUM, order=tantivy.Order.Asc)
    for num, address in found.hits:
        yield int(num), searcher.doc(address)
