"""A package in which everything is wrong."""


def nothing(config):
    """Makes no policy"""


def clumsy(config):
    """Divides by zero"""
    return 1 / 0
