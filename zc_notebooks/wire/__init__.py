"""The protocols providers speak."""
