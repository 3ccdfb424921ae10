"""A real small model on this machine, and candidates on this machine that may not be running."""
