"""Parsers that run offline on CPU: OCR lines and layout regions put together to markdown."""
