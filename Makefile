# Everything runs in .venv, which `make setup` builds from the lock files; all other targets call it.
#
#   make PYTHON=python3.12 setup    builds it with another Python
#   make lock UV_ARGS=--upgrade     moves every pin that pyproject.toml leaves open

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python -m
UV     := $(VENV)/bin/uv --quiet
DONE   := $(VENV)/.done
# uv does not read pip's settings, and where there is a mirror it is pip that knows it.
INDEX   = index="$${PIP_INDEX_URL:-$$($(RUN) pip config get global.index-url 2>/dev/null)}"; \
	[ -z "$$index" ] || export UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$$index}";

# Half of a test's time is waiting. A file stays with one process, for the sake of its fixtures, and
# those that take longest come first. xdist 3.8 cannot group tests in another way with pytest 9.2.
# `ARGS=--record` writes down how long they took.
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

# An Airflow, a Spark or an environment of the caller's own must not leak into ours.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH PYTHONSAFEPATH PIP_USER PIP_TARGET PIP_PREFIX UV_SYSTEM_PYTHON
unexport SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYSPARK_SUBMIT_ARGS
# Without bytecode every start of Airflow compiles it all anew.
unexport PYTHONDONTWRITEBYTECODE
export AIRFLOW_HOME := $(CURDIR)/.airflow

SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(DONE)-project ## Build .venv as the lock files say and find a Java; quick when nothing changed
	@$(RUN) tidemill.toolchain.java

.PHONY: demo
demo: setup ## Run the demo pipeline through Airflow: several increments, one of them held and released
	@$(RUN) tidemill_airflow.local.demo $(if $(DAYS),--days $(DAYS))

.PHONY: up
up: setup ## Start Airflow with its UI on what the demo left; EXAMPLES=all shows the other examples too
	@$(if $(EXAMPLES),TIDEMILL_EXAMPLES=$(EXAMPLES)) $(RUN) tidemill_airflow.local.up

.PHONY: test
test: setup jars classes browser ## Run the unit tests and the most telling of the others, in at most 20 minutes
	@$(RUN) pytest $(PARALLEL) --tier first $(ARGS)

.PHONY: test-rest
test-rest: setup jars classes browser ## Run the tests that `make test` leaves out
	@$(RUN) pytest $(PARALLEL) --tier rest --durations 30 $(ARGS)

.PHONY: test-all
test-all: setup jars classes browser ## Run every test, and print the slowest 30
	@$(RUN) pytest $(PARALLEL) --durations 30

.PHONY: durations
durations: setup jars classes browser ## Run every test on a quiet machine, and write tests/durations.json
	@$(RUN) pytest $(PARALLEL) --record

.PHONY: test-long
test-long: setup jars ## Hold every shipped pipeline against its oracle over 200 histories; goes on where it stopped
	@# What runs for hours is worth Java's better compiler, which shorter runs do without. Two cores
	@# are busy with three processes, each of which waits for its own Spark, and collects garbage alone.
	@export _JAVA_OPTIONS='-XX:TieredStopAtLevel=4 -XX:+UseSerialGC -Xms1536m -Xmx1536m'; \
		TIDEMILL_HISTORIES=200 $(if $(SEED),TIDEMILL_SEED=$(SEED)) $(if $(SHARE),TIDEMILL_SHARE=$(SHARE)) \
		$(if $(SHRINK),TIDEMILL_SHRINK=1) TMPDIR=$$([ -w /dev/shm ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}") \
		$(RUN) pytest -q -p tests.oracle.long_mode -n 3 --dist load --timeout 0 \
		-o tmp_path_retention_policy=failed $(if $(P),-k '$(P)') $(ARGS) tests/oracle

.PHONY: test-versions
test-versions: setup jars ## Run the most telling tests at both ends of the version ranges in pyproject.toml
	@$(INDEX) $(RUN) tests.versions

.PHONY: test-one
test-one: setup jars ## Run the tests of one pipeline: make test-one P=retail
	@[ -n "$(P)" ] || { echo 'Say which pipeline: make test-one P=retail' >&2; exit 2; }
	@$(RUN) pytest -k '$(P)'

.PHONY: chaos
chaos: setup jars ## Let every system call of the steps after ingest fail; with SEED= kill whole runs of ten pipelines
	@$(RUN) tests.chaos $(if $(AIRFLOW),--airflow) $(if $(SEED),--seed $(SEED)) $(if $(KILLS),--kills $(KILLS)) $(if $(KIND),--kind $(KIND)) $(if $(CASE),--case $(CASE)) \
		$(if $(FAULT),--fault $(FAULT)) $(if $(POINT),--point $(POINT)) $(if $(BUCKET),--bucket)

.PHONY: check lint types imports unit
check: lint types imports unit ## Lint, types, import contracts, unit and DAG-integrity tests; no JVM

lint: $(DONE)-project
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet .

types: $(DONE)-project
	@$(VENV)/bin/mypy

imports: $(DONE)-project
	@$(VENV)/bin/lint-imports --no-logo

# With a JAVA_HOME that does not exist, a test that starts a JVM without a fixture for it fails here.
unit: $(DONE)-project
	@JAVA_HOME=/no-jvm-in-make-check $(RUN) pytest -q $(PARALLEL) -m 'not jvm and not server and not airflow and not browser' $(ARGS)

.PHONY: coverage
coverage: ## Run the tests of `make check`, print which share of each package they run, hold the floors
	@$(MAKE) unit ARGS='--cov --cov-report='
	@$(RUN) tests.coverage_floor

.PHONY: bench
bench: setup jars classes ## Measure ingest, a whole increment and an idle run against hand-written glue, and old pipelines against young ones
	@$(RUN) tests.bench $(ARGS)

.PHONY: schema
schema: $(DONE)-project ## Write the JSON Schema of the specs, and the reference of fields and commands
	@$(RUN) tidemill.spec.json_schema
	@$(RUN) docs.site.reference

.PHONY: docs
docs: $(DONE)-project ## Build the pages as a site in .artefacts/site; a warning is an error
	@$(RUN) sphinx -q -W --keep-going -c docs/site . .artefacts/site
	@echo 'Open .artefacts/site/index.html'

LOCK := pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

.PHONY: lock
lock: $(DONE)-installer ## Resolve pyproject.toml into the lock files again, keeping pins that still hold
	@printf 'uv\nsetuptools\nwheel\n' | $(UV) $(LOCK) $(UV_ARGS) -o requirements-setup.lock -
	@$(UV) $(LOCK) $(UV_ARGS) --extra dev -c requirements-setup.lock -o requirements.lock pyproject.toml

.PHONY: jars
jars: setup ## Fetch the jars of Kafka, Delta and the test servers into .jars; quick when there
	@$(RUN) tidemill.toolchain.jars

.PHONY: classes
classes: setup ## Write an archive of Spark's classes into .venv, from which its JVM starts quicker; quick when there
	@$(RUN) tidemill.toolchain.class_archive

.PHONY: browser
browser: setup ## Fetch the headless Chromium of the tests of the UI into .jars; quick when there
	@$(RUN) tests.browser.program

.PHONY: kafka
kafka: setup ## Run a Kafka broker on 127.0.0.1:9092 until Ctrl-C
	@$(RUN) tidemill.toolchain.jars broker
	@$(RUN) tests.servers.kafka

.PHONY: env
env: ## Make up the secrets of docker-compose.yaml in .env, unless it is there
	@'$(PYTHON)' plugins/tidemill_airflow/local/compose_env.py

.PHONY: lock-jars
lock-jars: setup ## Find anew what the jars named in jars.lock need, and write every hash
	@$(RUN) tidemill.toolchain.jars --lock

.PHONY: clean
clean: ## Delete what demo, tests and tools left behind, but not .venv
	@rm -rf .airflow .tidemill .artefacts .versions build dist *.egg-info .hypothesis .*_cache \
		metastore_db spark-warehouse derby.log .coverage .coverage.*
	@find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@command -v '$(PYTHON)' >/dev/null || { \
		echo "There is no '$(PYTHON)' here: install Python 3.11 to 3.14, or name one, as in 'PYTHON=python3.12 make setup'." >&2; exit 2; }
	@'$(PYTHON)' -c '$(SUPPORTED)' || { \
		echo "'$(PYTHON)' is $$('$(PYTHON)' -V 2>&1), and Tidemill needs Python 3.11 to 3.14: name one, as in 'PYTHON=python3.12 make setup'." >&2; exit 2; }
	@'$(PYTHON)' -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot build virtual environments: install its venv package, such as 'apt install python3-venv'." >&2; exit 2; }
	@'$(PYTHON)' -m venv --clear $(VENV)

# pip installs only the installer and the build back end; both are pinned by hash like all the rest.
$(DONE)-installer: requirements-setup.lock | $(VENV)/bin/python
	@$(VENV)/bin/python -c '$(SUPPORTED)' || { \
		echo "$(VENV) is built on $$($(VENV)/bin/python -V), and Tidemill needs Python 3.11 to 3.14: delete $(VENV) and run 'make setup' again." >&2; exit 2; }
	@echo 'Setting up $(VENV), some minutes the first time ...'
	@$(RUN) pip install --quiet --disable-pip-version-check --require-hashes -r requirements-setup.lock
	@touch $@

$(DONE)-packages: requirements.lock $(DONE)-installer
	@$(INDEX) $(UV) pip sync --python $(VENV)/bin/python --require-hashes --no-build-isolation requirements.lock
	@touch $@

$(DONE)-project: pyproject.toml $(DONE)-packages
	@$(UV) pip install --python $(VENV)/bin/python --no-deps --no-build-isolation --editable .
	@touch $@
