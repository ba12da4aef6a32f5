"""Hanabi as PyTorch tensors: rules, chance, encodings and rollouts on any device."""
