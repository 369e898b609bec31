# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

WORKERS := -n $$(($$(nproc) + 2))
AT_ONCE := --dist loadfile --no-loadscope-reorder
# Tests are compiled once, whatever the environment says: that takes longer than most of them run.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo check test tests test-long lint compiled generate site gallery package constraints clean

# AIM over the RAND health insurance table (statsmodels), split among three hospitals of unequal size.
# $(1): the programs of an environment; $(2): the release folder.
define simulated
	$(1)/privity simulate \
	  --data "$$($(1)/python -c 'import importlib.util as u; print(u.find_spec("statsmodels").submodule_search_locations[0])')/datasets/randhie/randhie.csv" \
	  --schema examples/randhie.schema.json --parties 3 --split sizes:.5,.3,.2 \
	  --algorithm aim --epsilon 1 --delta 1e-9 --out $(2)
endef

demo: $(VENV)/plain.stamp
	rm -rf demo-release
	$(call simulated,$(BIN),demo-release)
	@echo; head -n 6 demo-release/synthetic.csv

# An answer within a minute, while you work: what needs no other process, and no large sample.
check: lint
	$(BIN)/pytest -m unit --ignore tests/benchmarks -n logical $(AT_ONCE) --hypothesis-profile quick

# The linters beside the tests: mypy uses one processor.
test:
	$(MAKE) --jobs 2 lint tests

# Two workers more than there are processors: many of these tests wait. Each would compile all test files of a fresh
# clone, unless that is done before.
tests: compiled
	$(BIN)/pytest -m "not long" $(WORKERS) $(AT_ONCE)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What fails here fails again, and is told, when the tests run.
compiled: $(VENV)/test.stamp
	$(BIN)/pytest --collect-only > /dev/null || true

# Everything: the checks that take minutes too, and whole samples.
test-long: $(VENV)/test.stamp
	$(BIN)/pytest --hypothesis-profile thorough -o timeout=3000 -o faulthandler_timeout=3600 $(WORKERS) $(AT_ONCE)

# The documentation as a site, in build/site/: open index.html. A warning or a broken link fails.
site: $(VENV)/site.stamp
	$(BIN)/python -m docs.site build/site

# The notebooks of docs/gallery, run anew with what they show.
gallery: $(VENV)/gallery.stamp
	$(BIN)/python -m docs.gallery

# Wheel and source distribution, in dist/: built, checked, installed into an empty environment, and tried there with the
# demo. `make package PYTHON=python3.13` tries another Python.
package:
	rm -rf dist build/package
	$(PYTHON) -m venv build/package/tools
	build/package/tools/bin/pip install --quiet --disable-pip-version-check build twine
	build/package/tools/bin/python -m build --outdir dist .
	build/package/tools/bin/twine check --strict dist/*
	$(PYTHON) -m venv build/package/venv
	build/package/venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	$(call simulated,build/package/venv/bin,build/package/release)
	build/package/venv/bin/privity verify build/package/release

# The exact versions with which a release is made, for every Python and system that is supported.
constraints:
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --quiet --disable-pip-version-check uv
	build/constraints/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra all \
	  --no-header --no-annotate --output-file constraints.txt pyproject.toml

# Regenerate the committed protobuf and gRPC code from protos/.
generate: $(VENV)/test.stamp
	$(BIN)/python -m privity.common.wire.generate_code

$(VENV)/test.stamp: tests/pip-without-dependencies.txt

$(VENV)/plain.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

# Not compiled: most modules that come along are never loaded, and Python compiles the others when it loads them first.
$(VENV)/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -e ".[$*]"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	  -r tests/pip-without-dependencies.txt
	touch $@

clean:
	rm -rf $(VENV) demo-release build dist
