"""Networks as policies: files, shipped and foreign ones, training. Needs PyTorch.

``pip install "hanabi-search-plugin[torch]"``. Import what you need from the modules: ``policy``
(``network_policy``), ``checkpoint`` (``load_network``, ``save_network``), ``training.distill``.
"""
