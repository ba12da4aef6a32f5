# The commands of the README. Each makes what it needs in .venv first, once.
#
#   make demo                       one game of Hanabi in which a search helps a bot
#   make test                       style, types and tests
#   make test TORCH=torch==2.13.0   the same with PyTorch, as this requirement for pip names it;
#                                   without TORCH, tests that need PyTorch skip unless it is there;
#                                   EXTRAS=frameworks,docs: Stable-Baselines3, RLlib, Tianshou and
#                                   Sphinx, too
#   make slow                       the tests that take minutes
#   make bench                      the table of speeds
#   make docs                       the site of docs/, in build/site/index.html
#   make release-check              builds, and installs and runs what was built, by each of PYTHONS

PYTHON ?= python3
TORCH ?=
EXTRAS ?=
PYTEST_ARGS ?= -n auto --dist worksteal
PYTHONS ?= $(PYTHON)

VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled then, and kept, since tests start hundreds of interpreters: most of
# what is installed is never imported.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
TORCH_WORDS := $(foreach word,$(TORCH),'$(word)')
EXTRA_NAMES = dev$(if $(TORCH),$(comma)torch)$(if $(EXTRAS),$(comma)$(EXTRAS))

.PHONY: demo test types tests slow bench docs release-check FORCE

demo: $(VENV)/.installed
	$(BIN)/hanabi-search demo

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory --jobs=2 types tests

# For `test`: side by side, since mypy keeps one core busy for two minutes.
types:
	$(BIN)/mypy

tests:
	$(BIN)/pytest $(PYTEST_ARGS)

slow: $(VENV)/.installed-dev
	$(BIN)/pytest -m slow $(PYTEST_ARGS)

bench: $(VENV)/.installed
	$(BIN)/hanabi-search bench

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -j auto -W --keep-going -q docs build/site

release-check: $(VENV)/.installed-dev
	$(INSTALL) -e '.[release]'
	$(BIN)/python -m benchmarks.release $(PYTHONS)

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# Written only when the wishes change, so that it is newer than what was installed for others.
$(VENV)/.wishes: $(VENV)/.made FORCE
	@echo $(TORCH_WORDS) $(EXTRAS) | cmp -s - $@ || echo $(TORCH_WORDS) $(EXTRAS) > $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.made
	$(INSTALL) -e .
	touch $@

# PyTorch goes first: asked for by the package's own requirement, pip would take the CUDA build.
$(VENV)/.installed-dev: pyproject.toml $(VENV)/.wishes
	$(if $(TORCH),$(INSTALL) $(TORCH_WORDS))
	$(INSTALL) -e '.[$(EXTRA_NAMES)]'
	touch $(VENV)/.installed $@

# Without PyTorch and the frameworks the pages of what needs them are made all the same.
$(VENV)/.installed-docs: pyproject.toml | $(VENV)/.made
	$(INSTALL) -e '.[docs]'
	touch $(VENV)/.installed $@

comma := ,
