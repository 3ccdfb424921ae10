"""Answer prompts through a chain of LLM providers that run out, and see every attempt."""

__version__ = "0.1.0"
