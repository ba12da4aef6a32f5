"""The modules of PyTorch: blueprints, critics and belief models."""
