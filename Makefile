# Needs Python >= 3.11, make and the package registries; everything else is fetched here.
PYTHON ?= python3
UV := .uv/bin/uv

.PHONY: setup demo test slow lowest check kernels wheel blender bench clean

setup: .venv/.ready

CLIENT := client
.venv/.ready: pyproject.toml uv.lock hatch_build.py $(wildcard $(CLIENT)/src/* $(CLIENT)/src/*/* $(CLIENT)/*.json $(CLIENT)/*.ts) $(UV)
	$(UV) sync --frozen --all-extras --reinstall-package osteon --compile-bytecode --quiet --python $(PYTHON)
	.venv/bin/python -m compileall -q src
	@touch $@

$(UV):
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet uv

demo: setup
	.venv/bin/osteon demo -o demo

check: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright

# One thread in each of the two workers; a test file stays with one, as its tests share solved takes.
test:
	@$(MAKE) --jobs=2 --output-sync=target --no-print-directory check kernels tests/node/node_modules
	OPENBLAS_NUM_THREADS=1 .venv/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder

# Compiled once, beside pyright: two workers without a cache would each compile their own.
# Should it fail, the tests say why better.
kernels: setup
	-OPENBLAS_NUM_THREADS=1 .venv/bin/python tests/compile_kernels.py

# With machine code for the processors that most people have: who installs it waits for no compiler.
wheel: setup
	rm -rf dist
	OPENBLAS_NUM_THREADS=1 .venv/bin/python tests/compile_kernels.py $(CURDIR)/dist/kernels
	OSTEON_KERNELS=$(CURDIR)/dist/kernels $(UV) build --quiet --wheel --out-dir dist
	@ls dist/*.whl

# The extension that Blender installs from disk; it runs the osteon command.
blender:
	@$(PYTHON) blender/build.py dist

# second opinions from npm; tests that ask them skip where there is no npm
tests/node/node_modules: tests/node/package.json tests/node/package-lock.json
	@if command -v npm >/dev/null; then cd tests/node && npm ci --no-audit --no-fund && touch node_modules; fi

slow: setup tests/node/node_modules
	.venv/bin/pytest -m slow

# The oldest versions that pyproject.toml allows, once per release. The studio's test client of
# that time knows only the older httpx; warnings of old packages are their own.
lowest: $(UV)
	$(UV) venv --quiet --clear --python $(PYTHON) .lowest
	$(UV) pip install --quiet --python .lowest/bin/python --resolution lowest-direct -e '.[all]'
	$(UV) pip install --quiet --python .lowest/bin/python --group dev 'httpx<0.28'
	OPENBLAS_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/.lowest/kernels .lowest/bin/pytest -W default

bench: setup
	.venv/bin/python benchmarks/run.py

clean:
	rm -rf .venv .lowest .uv demo tests/node/node_modules
