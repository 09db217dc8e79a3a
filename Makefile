# Two stamps in one virtual environment: the demo does not wait for the tools of the developers.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt

.PHONY: demo test quick check bench clean

demo: .venv/.ready
	$(BIN)/flexarm simulate canadarm --out out

test: .venv/.ready-dev
	$(BIN)/python -m pytest -n 2

quick: .venv/.ready-dev
	$(BIN)/python -m pytest -n 2 -q --quick

check: .venv/.ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

# Pinocchio (crosscheck) has no wheel for some systems: its tests are then skipped.
.venv/.ready-dev: .venv/.ready
	$(PIP) -e ".[dev,crosscheck]" || $(PIP) -e ".[dev]"
	touch $@
