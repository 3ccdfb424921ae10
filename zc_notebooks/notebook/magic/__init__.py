"""What the magics are made of: their options, the kernel's one chain, what Tab offers. IPython is never imported."""
