"""The local model and the candidates on this machine, without the model: a small script stands in for it."""
