"""Text out of web pages by a parser that may crash, hang or eat memory, and must not take a task with it.

`worker` is the process that parses, `client` hands it documents and outlives it, `engines` are the parsers,
`outcomes` what becomes of a document. The step is `dataprep/steps/extract_text.py`.
"""
