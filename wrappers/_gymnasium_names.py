"""The names under which Gymnasium knows the environments. Gymnasium must be imported before."""

import gymnasium

ID = "HanabiSearch/Hanabi-v0"  #: The id of the environments, for ``make`` and ``make_vec``.
_MODULE = "hanabi_search_plugin.wrappers.gymnasium"

if ID not in gymnasium.registry:
    gymnasium.register(
        id=ID,
        entry_point=f"{_MODULE}:HanabiEnv",
        vector_entry_point=f"{_MODULE}:HanabiVectorEnv",
    )
