"""Networks that come with the package, as safetensors; docs/policies/models.md has cards."""
