# Every target sets up what it needs in a private environment under .venv; only Python 3.11+ and a C++ compiler are asked of the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# For quick cycles: make build BUILD_FLAGS="-C cmake.define.SPINNEY_LEVELS=avx512"
BUILD_FLAGS ?=
CPP := $(wildcard native/kernels/*.hpp native/bindings/*.hpp native/bindings/*.cpp native/probe/*.cpp native/tests/*.hpp native/tests/*.cpp)

.PHONY: demo test test-python test-native lint format bench sanitize fuzz build clean

demo: build
	$(BIN)/python -m spinney.demo

test: build test-native
	$(BIN)/pytest -n 2

test-native: $(VENV)/.dev
	$(BIN)/cmake -S . -B build/native -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=Release -DSPINNEY_NATIVE_TESTS=ON > build/native.log
	$(BIN)/cmake --build build/native
	$(BIN)/ctest --test-dir build/native --output-on-failure

lint: build
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: build $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

sanitize: $(VENV)/.dev
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCMAKE_BUILD_TYPE=Debug -DSPINNEY_NATIVE_TESTS=ON -DSPINNEY_SANITIZE=ON > build/sanitize.log
	$(BIN)/cmake --build build/sanitize
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure

# --group reads the dependency lists of pyproject.toml, the one place where they stand.
$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q --group build --group dev
	mkdir -p build && touch $@

build: $(VENV)/.dev
	flock $(VENV)/.dev $(BIN)/python -m pip install -q --no-build-isolation -e ".[plot,io]" $(BUILD_FLAGS)

$(VENV)/.bench: benchmarks/requirements.txt
	$(BIN)/python -m pip install -q -r benchmarks/requirements.txt
	touch $@

clean:
	rm -rf build $(VENV)
