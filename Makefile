# Every target sets up what it needs in a private environment under .venv; only Python 3.11+ and a C++ compiler are asked of the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# For quick cycles: make build BUILD_FLAGS="-C cmake.define.SPINNEY_LEVELS=avx512"
BUILD_FLAGS ?=
CPP := $(wildcard native/*/*.hpp native/*/*.cpp)

CONFIGURE := $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
# What the sanitized module needs of the interpreter: the run-time libraries before all others, and no site, whose import hook would
# give the installed package.
SANITIZED = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	SPINNEY_VECTOR=baseline PYTHONPATH=build/sanitized:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('platlib'))") \
	$(BIN)/python -S
# How many damaged files: make fuzz FILES=2000
FILES ?= 100000

.PHONY: demo test test-native agreement lint format bench sanitize sanitize-threads fuzz build clean

demo: build
	$(BIN)/python -m spinney.demo

test: build test-native
	$(BIN)/pytest -n 2

test-native: $(VENV)/.dev
	$(CONFIGURE) -B build/native -DCMAKE_BUILD_TYPE=Release -DSPINNEY_NATIVE_TESTS=ON > build/native.log
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

agreement: build
	$(BIN)/pytest -n 2 -m long

sanitize: $(VENV)/.dev
	$(CONFIGURE) -B build/sanitize -DCMAKE_BUILD_TYPE=Debug -DSPINNEY_NATIVE_TESTS=ON -DSPINNEY_SANITIZE=ON > build/sanitize.log
	$(BIN)/cmake --build build/sanitize --parallel 2
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure

sanitize-threads: $(VENV)/.dev
	$(CONFIGURE) -B build/sanitize-threads -DCMAKE_BUILD_TYPE=Debug -DSPINNEY_NATIVE_TESTS=ON -DSPINNEY_SANITIZE=thread > build/sanitize-threads.log
	$(BIN)/cmake --build build/sanitize-threads --parallel 2
	TSAN_OPTIONS=die_after_fork=0 $(BIN)/ctest --test-dir build/sanitize-threads --output-on-failure

# Damaged model files against a core built with the address and undefined-behaviour sanitizers.
fuzz: $(VENV)/.dev
	$(CONFIGURE) -B build/sanitized-module -DCMAKE_BUILD_TYPE=Debug -DSPINNEY_SANITIZE=ON -DSPINNEY_LEVELS=baseline \
		-DPython_EXECUTABLE=$(abspath $(BIN)/python) > build/sanitized-module.log
	$(BIN)/cmake --build build/sanitized-module
	rm -rf build/sanitized && mkdir build/sanitized && cp -r src/spinney build/sanitized/
	$(BIN)/cmake --install build/sanitized-module --prefix build/sanitized > build/sanitized.log
	$(SANITIZED) tests/fuzz/fuzz_model_files.py --n $(FILES) --core-in build/sanitized

# --group reads the dependency lists of pyproject.toml, the one place where they stand.
$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q --group build --group dev
	mkdir -p build && touch $@

build: $(VENV)/.dev
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[plot,io]" $(BUILD_FLAGS)

$(VENV)/.bench: benchmarks/requirements.txt
	$(BIN)/python -m pip install -q -r benchmarks/requirements.txt
	touch $@

clean:
	rm -rf build $(VENV)
