"""Decisions: columnar computations over the signals of all documents. Arrays in, arrays out; no files, no
text."""
