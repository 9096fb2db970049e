# Every target sets up what it needs in a private environment under .venv; only Python 3.11+ and a C++ compiler are asked of the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# More arguments of pip, e.g. make build BUILD_FLAGS="--config-settings=cmake.define.SPINNEY_LEVELS=avx2"
BUILD_FLAGS ?=
export BUILD_FLAGS
# Without bytecode on disk every new interpreter compiles all that it imports, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE
CPP := $(wildcard native/*/*.hpp native/*/*.cpp native/tests/*/*.cpp)

# Processes that compile and test at once.
JOBS ?= 2
CONFIGURE := $(BIN)/cmake -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) --preset
# What the sanitized module needs of the interpreter: the run-time libraries before all others, and no site, whose import hook would
# give the installed package.
SANITIZED = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	SPINNEY_VECTOR=baseline PYTHONPATH=build/sanitized:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('platlib'))") \
	$(BIN)/python -S
# How many damaged files: make fuzz FILES=2000
FILES ?= 100000

# The Pythons of wheels and of the matrix, as many as are found, and the tests of the matrix: make matrix PYTHONS=3.13 TESTS=tests
PYTHONS ?= 3.11 3.12 3.13 3.14 3.14t 3.15
# Vector levels of wheels.
LEVELS ?= all
export LEVELS
TESTS ?= tests/smoke tests/core tests/tree tests/trees

.PHONY: demo test test-native agreement drop-in lint format bench sanitize sanitize-threads arm clang fuzz prove docs wheel smoke matrix build build-all core clean

demo: build
	$(BIN)/python -m spinney demo

test: $(VENV)/.dev test-native
	$(BIN)/pytest -n 2

# The kernel tests link the objects of the Python core.
test-native: core
	$(BIN)/cmake --build build/module --target native_tests
	$(BIN)/ctest --test-dir build/module --output-on-failure --parallel $(JOBS)

# Needs no compiled core: mypy reads the stub, import-linter the sources.
lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

# make bench DATA=FOLDER: also over the real tables of a folder (see benchmarks/tables.py).
bench: core $(VENV)/.bench
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.tables all $(if $(DATA),--data $(DATA))

agreement: $(VENV)/.dev $(VENV)/.exports core
	$(BIN)/pytest -n 2 -m "long or not long" tests/export
	$(BIN)/pytest -n 2 -m long --ignore tests/export

# scikit-learn's own tests with Spinney's classes; the failures are those that tests/drop_in/expected_failures.toml names.
drop-in: $(VENV)/.dev core
	PYTHONPATH=tests $(BIN)/pytest -c tests/drop_in/pytest.ini -n 2

# Kernel tests, and the Python core that `make fuzz` tests, with the address and undefined-behaviour sanitizers.
sanitize: $(VENV)/.build
	$(CONFIGURE) sanitize -DPython_EXECUTABLE=$(abspath $(BIN)/python) > build/sanitize.log
	$(BIN)/cmake --build build/sanitize --parallel $(JOBS) --target native_tests
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure --parallel $(JOBS)

sanitize-threads: $(VENV)/.build
	$(CONFIGURE) sanitize-threads > build/sanitize-threads.log
	$(BIN)/cmake --build build/sanitize-threads --parallel $(JOBS) --target native_tests
	TSAN_OPTIONS=die_after_fork=0 $(BIN)/ctest --test-dir build/sanitize-threads --output-on-failure --parallel $(JOBS)

# The kernel tests under emulation, among them the hashes of models and predictions, which `make test` and `make clang` compare, too.
arm: $(VENV)/.build
ifeq ($(and $(shell command -v aarch64-linux-gnu-g++),$(shell command -v qemu-aarch64)),)
	@echo "skipped: needs aarch64-linux-gnu-g++ and qemu-aarch64 (Debian: g++-aarch64-linux-gnu qemu-user)"
else
	$(CONFIGURE) arm > build/arm.log
	$(BIN)/cmake --build build/arm --parallel $(JOBS) --target native_tests
	$(BIN)/ctest --test-dir build/arm --output-on-failure --parallel $(JOBS)
endif

# The kernels of every vector level with Clang, warnings are errors: make clang CLANG=clang++-19. Clang reports that std::stable_sort of libstdc++ 12 itself
# calls a deprecated function.
CLANG ?= clang++
clang: $(VENV)/.build
	$(CONFIGURE) clang -DCMAKE_CXX_COMPILER=$(CLANG) -DCMAKE_CXX_FLAGS=-Wno-deprecated-declarations > build/clang.log
	$(BIN)/cmake --build build/clang --parallel $(JOBS) --target native_tests -- -k 0
	$(BIN)/ctest --test-dir build/clang --output-on-failure --parallel $(JOBS)

# Damaged model files against a core built with the address and undefined-behaviour sanitizers.
fuzz: $(VENV)/.dev
	$(CONFIGURE) sanitize -DPython_EXECUTABLE=$(abspath $(BIN)/python) > build/sanitize.log
	$(BIN)/cmake --build build/sanitize --parallel $(JOBS)
	rm -rf build/sanitized && mkdir build/sanitized && cp -r src/spinney build/sanitized/
	$(BIN)/cmake --install build/sanitize --prefix build/sanitized > build/sanitized.log
	$(SANITIZED) tests/fuzz/fuzz_model_files.py --n $(FILES) --processes $(JOBS) --core-in build/sanitized

# The site in build/site: pages of docs/, API reference, gallery (whose examples are run). A warning or a broken link is an error.
docs: core $(VENV)/.dev $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean --quiet
	@echo "open build/site/index.html"

# Every long proof, one after the other, and a table of the results.
prove: $(VENV)/.build
	$(BIN)/python tests/prove.py sanitize sanitize-threads clang arm fuzz agreement drop-in

# Lists of requirements in pyproject.toml: the package's own, its extras and the groups of tools. pip's option --group is too new for the
# pip of a fresh environment.
LISTS := import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
	lists = p["dependency-groups"] | p["project"]["optional-dependencies"] | {"package": p["project"]["dependencies"]}; \
	print(*(r for name in sys.argv[1:] for r in lists[name]), sep="\n")
REQUIREMENTS := $(BIN)/python -c '$(LISTS)'

# --no-compile: bytecode is written when a module is first imported, most are never.
PIP := $(BIN)/python -m pip install -q --no-compile

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.build: pyproject.toml | $(BIN)/python
	mkdir -p build
	$(REQUIREMENTS) build > build/build.txt
	$(PIP) -r build/build.txt
	touch $@

$(VENV)/.run: $(VENV)/.build
	$(REQUIREMENTS) package demo > build/run.txt
	$(PIP) -r build/run.txt
	touch $@

$(VENV)/.dev: $(VENV)/.build
	$(REQUIREMENTS) package plot io dask dev > build/dev.txt
	$(PIP) -r build/dev.txt
	touch $@

$(VENV)/.docs: $(VENV)/.build
	$(REQUIREMENTS) docs > build/docs.txt
	$(PIP) -r build/docs.txt
	touch $@

# Drives a browser that is installed already; see tests/reporting/test_browser.py.
$(VENV)/.browser: $(VENV)/.build
	$(REQUIREMENTS) browser > build/browser.txt
	$(PIP) -r build/browser.txt
	touch $@

# ONNX Runtime, and the libraries whose models are imported.
$(VENV)/.exports: $(VENV)/.build
	$(REQUIREMENTS) onnx exports > build/exports.txt
	$(PIP) -r build/exports.txt
	touch $@

# One after the other: scikit-build-core imports NumPy, which must not be half installed then.
build: $(VENV)/.run
	$(MAKE) core

# The core for this processor only; build-all compiles it for every vector level, as wheels need it.
core: $(VENV)/.build
	$(PIP) --no-build-isolation --no-deps --config-settings=build-dir=build/module -e . $(BUILD_FLAGS)

build-all: BUILD_FLAGS += --config-settings=cmake.define.SPINNEY_LEVELS=all
build-all: build

# Wheels with every vector level in dist/, their manylinux tags from auditwheel.
wheel: $(VENV)/.build
	$(BIN)/python tests/wheels.py build dist $(PYTHONS)

# The wheel in a fresh environment without a compiler.
smoke: $(VENV)/.build
	$(BIN)/python tests/wheels.py smoke dist $(firstword $(PYTHONS))

matrix: wheel
	$(BIN)/python tests/wheels.py matrix dist "$(TESTS)" $(PYTHONS)

$(VENV)/.bench: benchmarks/requirements.txt $(VENV)/.build
	$(REQUIREMENTS) package plot io > build/bench.txt
	$(PIP) -r build/bench.txt -r benchmarks/requirements.txt
	touch $@

clean:
	rm -rf build dist $(VENV)
