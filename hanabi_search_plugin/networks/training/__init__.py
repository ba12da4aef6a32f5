"""How networks learn: imitation of bots and of searches, self-play, critics, beliefs."""
