"""Adapters to other frameworks. Importing one loads its framework and no other.

* ``openspiel``, ``pettingzoo``, ``gymnasium``: games, environments, policies and agents
* ``stable_baselines3``, ``rllib``, ``tianshou``: trained models as policies, by ``as_policy``

Modules whose names begin with an underscore are their parts, and are not for users.
"""
