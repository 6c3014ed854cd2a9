# Needs Python >= 3.11, make and the package registries; everything else is fetched here.
PYTHON ?= python3
UV := .uv/bin/uv

.PHONY: setup demo test slow check bench clean

setup: .venv/.ready

CLIENT := src/ossature/studio/client
.venv/.ready: pyproject.toml uv.lock hatch_build.py $(wildcard $(CLIENT)/src/* $(CLIENT)/src/*/* $(CLIENT)/*.json) $(UV)
	$(UV) sync --frozen --all-extras --reinstall-package ossature --compile-bytecode --quiet --python $(PYTHON)
	@touch $@

$(UV):
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet uv

demo: setup
	.venv/bin/ossature demo -o demo

check: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright

test: check tests/node/node_modules
	.venv/bin/pytest

# second opinions from npm; tests that ask them skip where there is no npm
tests/node/node_modules: tests/node/package.json tests/node/package-lock.json
	@if command -v npm >/dev/null; then cd tests/node && npm ci --no-audit --no-fund && touch node_modules; fi

slow: setup tests/node/node_modules
	.venv/bin/pytest -m slow

bench: setup
	.venv/bin/python benchmarks/run.py

clean:
	rm -rf .venv .uv demo tests/node/node_modules
