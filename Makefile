# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

WORKERS := -n $$(($$(nproc) + 2))
AT_ONCE := --dist loadfile --no-loadscope-reorder
# Tests are compiled once, whatever the environment says: that takes longer than most of them run.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo check test tests test-long lint compiled generate site gallery package dist check-dist locks clean

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

# $(1): an environment to make; $(2): the file of locks/ with all that it gets, each with its hash.
define locked
	$(PYTHON) -m venv $(1)
	$(1)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r locks/$(2).txt
endef

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
	$(MAKE) dist
	$(MAKE) check-dist

# Built once: a release publishes these bytes. Nothing runs here but what builds them.
dist:
	rm -rf dist build/dist
	$(call locked,build/dist,build)
	build/dist/bin/python -m build --no-isolation --outdir dist .

# The files that are in dist/, without changing them.
check-dist:
	rm -rf build/package
	$(call locked,build/package/tools,release)
	build/package/tools/bin/twine check --strict dist/*
	$(call locked,build/package/venv,node)
	build/package/venv/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps dist/*.whl
	$(call simulated,build/package/venv/bin,build/package/release)
	build/package/venv/bin/privity verify build/package/release

# The exact versions, with hashes, of what is installed for a node or a release, on every Python and system that is
# supported. Wheels only: a source distribution would fetch what builds it, by no hash.
LOCK = build/locks/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --only-binary :all: --emit-build-options --no-header --no-annotate
locks:
	$(call locked,build/locks,release)
	$(LOCK) --extra all --group backend --output-file locks/all.txt pyproject.toml
	$(LOCK) --constraint locks/all.txt --group backend --output-file locks/node.txt pyproject.toml
	$(LOCK) --constraint locks/all.txt --group build --output-file locks/build.txt
	$(LOCK) --group release --output-file locks/release.txt
	$(LOCK) --group audit --output-file locks/audit.txt

# Regenerate what is committed and follows from something else: protobuf and gRPC code from protos/; of algorithms and
# options of a run what type checkers are told; the page of settings; JSON Schemas and tables of declared keys.
generate: $(VENV)/test.stamp
	$(BIN)/python -m privity.common.wire.generate_code
	$(BIN)/python -m privity.stubs > src/privity/__init__.pyi
	$(BIN)/privity algorithms --markdown > docs/algorithms/settings.md
	$(BIN)/python -m docs.site.schema_page
	$(BIN)/python -m docs.site.declared_keys

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
