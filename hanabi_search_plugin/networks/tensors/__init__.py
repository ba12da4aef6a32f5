"""Hanabi where the tensors are: rules, chance, encodings and rollouts on any device."""
