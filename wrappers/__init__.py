"""Adapters of other frameworks, each loaded by itself.

``openspiel``, ``pettingzoo`` and ``gymnasium``; models of ``stable_baselines3``, ``rllib`` and
``tianshou``.
"""
