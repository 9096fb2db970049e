# Every target sets up what it needs in a private environment under .venv; only Python 3.11+ and a C++ compiler are asked of the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# More arguments of pip, e.g. make build BUILD_FLAGS="-C cmake.define.SPINNEY_LEVELS=avx2"
BUILD_FLAGS ?=
EXTRAS =
CPP := $(wildcard native/*/*.hpp native/*/*.cpp native/tests/*/*.cpp)

CONFIGURE := $(BIN)/cmake -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) --preset
# What the sanitized module needs of the interpreter: the run-time libraries before all others, and no site, whose import hook would
# give the installed package.
SANITIZED = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	SPINNEY_VECTOR=baseline PYTHONPATH=build/sanitized:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('platlib'))") \
	$(BIN)/python -S
# How many damaged files: make fuzz FILES=2000
FILES ?= 100000

.PHONY: demo test test-native agreement lint format bench sanitize sanitize-threads fuzz build build-all clean

demo: build
	$(PIP) --group demo
	$(BIN)/python -m spinney.demo

test: EXTRAS = [plot,io]
test: $(VENV)/.dev build test-native
	$(BIN)/pytest -n 2

test-native: $(VENV)/.build
	$(CONFIGURE) native-tests > build/native-tests.log
	$(BIN)/cmake --build build/native-tests
	$(BIN)/ctest --test-dir build/native-tests --output-on-failure

# Needs no compiled core: mypy reads the stub, import-linter the sources.
lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: EXTRAS = [plot,io]
bench: build $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

agreement: EXTRAS = [plot,io]
agreement: $(VENV)/.dev build
	$(BIN)/pytest -n 2 -m long

sanitize: $(VENV)/.build
	$(CONFIGURE) sanitize > build/sanitize.log
	$(BIN)/cmake --build build/sanitize --parallel 2
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure

sanitize-threads: $(VENV)/.build
	$(CONFIGURE) sanitize-threads > build/sanitize-threads.log
	$(BIN)/cmake --build build/sanitize-threads --parallel 2
	TSAN_OPTIONS=die_after_fork=0 $(BIN)/ctest --test-dir build/sanitize-threads --output-on-failure

# Damaged model files against a core built with the address and undefined-behaviour sanitizers.
fuzz: $(VENV)/.dev
	$(CONFIGURE) sanitized-module -DPython_EXECUTABLE=$(abspath $(BIN)/python) > build/sanitized-module.log
	$(BIN)/cmake --build build/sanitized-module
	rm -rf build/sanitized && mkdir build/sanitized && cp -r src/spinney build/sanitized/
	$(BIN)/cmake --install build/sanitized-module --prefix build/sanitized > build/sanitized.log
	$(SANITIZED) tests/fuzz/fuzz_model_files.py --n $(FILES) --core-in build/sanitized

# All dependency lists stand in pyproject.toml: groups for tools, the project's own lists for what it imports.
RUNTIME := import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*p["dependencies"], *sum(p["optional-dependencies"].values(), []), sep="\n")

# --no-compile: bytecode is written when a module is first imported, most are never.
PIP := $(BIN)/python -m pip install -q --no-compile

$(VENV)/.build: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --group build
	mkdir -p build && touch $@

$(VENV)/.dev: $(VENV)/.build
	$(BIN)/python -c '$(RUNTIME)' > build/runtime.txt
	$(PIP) --group dev -r build/runtime.txt
	touch $@

# The core for this processor only; build-all compiles it for every vector level, as wheels need it.
build: $(VENV)/.build
	$(PIP) --no-build-isolation -e ".$(EXTRAS)" $(BUILD_FLAGS)

build-all: BUILD_FLAGS += -C cmake.define.SPINNEY_LEVELS=all
build-all: build

$(VENV)/.bench: benchmarks/requirements.txt
	$(PIP) -r benchmarks/requirements.txt
	touch $@

clean:
	rm -rf build $(VENV)
