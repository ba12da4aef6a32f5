"""Trainings of small networks for bots: the evaluation function and the recogniser of partners.

``hanabi-search train`` runs them; those of PyTorch networks are in ``networks.training``.
"""
