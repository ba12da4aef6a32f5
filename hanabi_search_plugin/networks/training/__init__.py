"""Trainings of networks, each a ``TrainingRun`` in a folder.

* ``distillation``: imitate a compiled bot
* ``clone_training``: imitate the recorded decisions of a search
* ``self_play``: reinforcement learning (PPO)
* ``belief_training``: a belief model on games of its blueprint
* ``critic_training``: a critic for a policy that stays as it is
"""
