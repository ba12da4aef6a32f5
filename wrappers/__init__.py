"""Adapters of other frameworks. Each is a module of its own, so that none loads another's."""
