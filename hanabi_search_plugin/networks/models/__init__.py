"""Networks that come with the package, as safetensors; docs/results/networks.md has cards."""
