"""evalkit measures document parsers on OmniDocBench: how right their markdown is and how fast they produce it."""

__version__ = "0.1.0"
