"""Networks that come with the package, as safetensors; docs/models.md says what each is."""
