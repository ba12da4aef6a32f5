"""The PyTorch modules: networks that play, critics and belief networks."""
