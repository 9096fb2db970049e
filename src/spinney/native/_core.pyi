"""Types of `spinney.native.core`; the modules `_core_<level>` all have them."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]
_Int64s: TypeAlias = NDArray[np.int64]
_Int32s: TypeAlias = NDArray[np.int32]
_UInt64s: TypeAlias = NDArray[np.uint64]
_Columns: TypeAlias = NDArray[Any] | Sequence[NDArray[Any] | None]

CHUNK_ROWS: Final[int]

class CodeMatrix:
    """Every column of a table as integer codes in rank order."""

    n_rows: Final[int]
    n_columns: Final[int]
    missing_columns: Final[list[bool]]
    def codes(self, column: int) -> NDArray[np.uint32]: ...
    def n_bins(self, column: int) -> int: ...
    def width(self, column: int) -> int: ...
    def has_missing(self, column: int) -> bool: ...
    def lo(self, column: int) -> _Floats: ...
    def hi(self, column: int) -> _Floats: ...
    def bin_of_category(self, column: int) -> NDArray[np.uint32]: ...
    def select(self, columns: Sequence[int]) -> CodeMatrix: ...
    def group_categories(self, column: int, groups: NDArray[np.uint32]) -> None: ...
    def extend(self, other: CodeMatrix) -> None: ...

class BinCoder:
    """Codes numeric columns by known bins, block by block."""

    def __init__(self, bins: Sequence[tuple[_Floats, _Floats]], sampled: bool) -> None: ...
    def code(
        self,
        columns: _Columns,
        weights: _Floats | None,
        codes: NDArray[np.uint8],
        at: int,
        n_threads: int,
    ) -> None: ...
    def extents(self, column: int) -> tuple[_Floats, _Floats]: ...
    def has_missing(self, column: int) -> bool: ...
    def merge(self, column: int, extents: tuple[_Floats, _Floats], has_missing: bool) -> None: ...

class ValueCounter:
    """Counts the distinct values of numeric columns."""

    def __init__(self, n_columns: int, limit: int) -> None: ...
    def add(self, columns: _Columns, masses: _Floats | None, n_threads: int) -> None: ...
    def drop(self, column: int) -> None: ...
    def complete(self, column: int) -> bool: ...
    def read(self, column: int) -> tuple[_Floats, _Floats]: ...

class Predictor:
    """Trees of an ensemble, packed for prediction at first use; columns that no tree reads may be None."""

    def __init__(self, ensemble: object, per_round: int, n_classes: Sequence[int]) -> None: ...
    used_features: Final[list[int]]
    def sum(
        self,
        columns: _Columns,
        n_threads: int,
        n_rows: int,
        first_tree: int,
        n_trees: int,
        n_stages: int,
        start: _Floats | None,
    ) -> _Floats: ...
    def apply(self, columns: _Columns, n_threads: int, n_rows: int) -> _Int32s: ...
    def values(self, columns: _Columns, n_threads: int, n_rows: int) -> _Floats: ...
    def classes(self, columns: _Columns, n_threads: int, n_rows: int) -> _Int64s: ...
    def decision_path(
        self, columns: _Columns, n_threads: int, n_rows: int
    ) -> tuple[_Int64s, _Int64s, _Floats]: ...

class TreeExplainer:
    """SHAP values of the trees of an ensemble; columns that no tree reads may be None."""

    def __init__(self, ensemble: object, per_round: int, owner: Sequence[int], n_owners: int) -> None: ...
    used_features: Final[list[int]]
    def base(self) -> _Floats: ...
    def values(self, columns: _Columns, n_threads: int, n_rows: int) -> _Floats: ...
    def interactions(self, columns: _Columns, n_threads: int, n_rows: int) -> _Floats: ...
    def interventional(
        self, columns: _Columns, background: _Columns, n_threads: int, n_rows: int, n_background: int
    ) -> tuple[_Floats, _Floats]: ...
    def responses(
        self,
        columns: _Columns,
        n_threads: int,
        n_rows: int,
        features: Sequence[int],
        points: _Floats,
        individual: bool,
    ) -> _Floats: ...

class GrowOptions:
    """The parameters of a tree algorithm; None stands for the default."""

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy", "error", "squared_error", "poisson", "absolute_error"] = ...,
        score: Literal["gain", "gain_ratio"] = ...,
        splitter: Literal["best", "random"] = ...,
        categorical_split: Literal["subset", "one-vs-rest", "multiway"] = ...,
        missing: Literal["direction", "fractional"] = ...,
        use_categories_once: bool = ...,
        oblique_directions: int = ...,
        max_depth: int | None = ...,
        min_samples_split: int = ...,
        min_samples_leaf: int = ...,
        min_weight_leaf: float = ...,
        min_impurity_decrease: float = ...,
        min_gain: float = ...,
        mdl_row_weight: float = ...,
        max_leaf_nodes: int | None = ...,
        max_features: int | None = ...,
        cost_rule: Literal["tan", "tan-linear", "nunez"] | None = ...,
        omega: float = ...,
        feature_costs: _Floats | None = ...,
        monotonic_cst: NDArray[np.int8] | None = ...,
        seed: int = ...,
        tie_seed: int = ...,
        n_threads: int = ...,
        ledger: bool | Literal["full"] = ...,
    ) -> None: ...
    def replace(
        self,
        *,
        max_features: int | None = ...,
        seed: int = ...,
        tie_seed: int = ...,
        n_threads: int = ...,
        ledger: bool | Literal["full"] = ...,
    ) -> GrowOptions: ...
    criterion: Final[str]
    score: Final[str]
    splitter: Final[str]
    categorical_split: Final[str]
    missing: Final[str]
    use_categories_once: Final[bool]
    oblique_directions: Final[int]
    max_depth: Final[int]
    min_samples_split: Final[int]
    min_samples_leaf: Final[int]
    min_weight_leaf: Final[float]
    min_impurity_decrease: Final[float]
    min_gain: Final[float]
    mdl_row_weight: Final[float]
    max_leaf_nodes: Final[int]
    max_features: Final[int]
    cost_rule: Final[str]
    omega: Final[float]
    feature_costs: Final[list[float]]
    monotonic_cst: Final[list[int]]
    seed: Final[int]
    tie_seed: Final[int]
    n_threads: Final[int]
    ledger: Final[bool | Literal["full"]]

class Candidates:
    """Split candidates in the order of their nodes, as columns of one length."""

    def __len__(self) -> int: ...
    node: Final[_Int32s]
    feature: Final[_Int32s]
    threshold: Final[_Floats]
    gain: Final[_Floats]
    gain_ratio: Final[_Floats]
    score: Final[_Floats]
    chosen: Final[NDArray[np.bool_]]

class GrownTree:
    """A fitted tree: the fields of `TreeArrays`, as read-only views that keep it alive."""

    kind: Final[NDArray[np.uint8]]
    feature: Final[_Int32s]
    threshold: Final[_Floats]
    first_child: Final[_Int32s]
    n_children: Final[_Int32s]
    missing: Final[_Int32s]
    value: Final[_Floats]
    weight: Final[_Floats]
    n_samples: Final[_Int64s]
    impurity: Final[_Floats]
    set_begin: Final[_Int64s]
    set_bits: Final[_UInt64s]
    branch_begin: Final[_Int64s]
    branch: Final[_Int32s]
    term_begin: Final[_Int64s]
    term_feature: Final[_Int32s]
    term_coefficient: Final[_Floats]
    term_fill: Final[_Floats]
    n_features: Final[int]
    n_outputs: Final[int]
    candidates: Final[Candidates]
    def marked_arrays(self) -> dict[str, NDArray[Any]]: ...

class GrownForest:
    """Trees of a forest: the fields of `TreeEnsemble`, as read-only views that keep it alive."""

    tree_begin: Final[_Int64s]
    kind: Final[NDArray[np.uint8]]
    feature: Final[_Int32s]
    threshold: Final[_Floats]
    missing: Final[NDArray[np.int8] | _Int32s]
    value: Final[_Floats]
    weight: Final[_Floats]
    n_samples: Final[_Int32s | _Int64s]
    impurity: Final[_Floats]
    set_begin: Final[_Int64s]
    set_bits: Final[_UInt64s]
    branch_begin: Final[_Int64s]
    branch_children: Final[_Int32s]
    branch: Final[_Int32s]
    term_begin: Final[_Int64s]
    term_feature: Final[_Int32s]
    term_coefficient: Final[_Floats]
    term_fill: Final[_Floats]
    n_features: Final[int]

def join_trees(trees: list[GrownTree]) -> tuple[GrownTree, _Int64s]:
    """All nodes in the arrays of one tree, children numbered within their own; the first node of each."""

class BootstrapSampler:
    """Draws the rows of bootstrap samples, as a function of a seed."""

    def __init__(
        self,
        n_rows: int,
        n_draw: int,
        bootstrap: bool,
        order: _Int64s | None,
        copies: _Int64s | None,
        chances: _Floats | None,
    ) -> None: ...
    def draw(self, seed: int) -> _Int64s: ...

class Grower:
    """Grows trees on one coded table."""

    def __init__(self, matrix: CodeMatrix) -> None: ...
    def grow(
        self,
        classes: _Int32s | None,
        n_classes: Sequence[int],
        values: _Floats | None,
        weights: _Floats | None,
        options: GrowOptions,
        n_threads: int,
    ) -> GrownTree: ...
    def grow_forest(
        self,
        classes: _Int32s | None,
        n_classes: Sequence[int],
        values: _Floats | None,
        options: GrowOptions,
        sampler: BootstrapSampler,
        sample_seeds: _UInt64s,
        tree_seeds: _UInt64s,
        factors: _Floats | None,
        balanced: bool,
        take: Callable[[GrownTree], None] | None,
        progress: Callable[[int], None] | None,
        n_threads: int,
    ) -> GrownForest: ...
    def order_rows(
        self,
        classes: _Int32s | None,
        values: _Floats | None,
        category_keys: Sequence[_UInt64s],
        n_threads: int,
    ) -> _Int64s: ...

class Stumps:
    """Stumps as arrays of three nodes each: the root and its leaves."""

    kind: Final[NDArray[np.uint8]]
    feature: Final[_Int32s]
    threshold: Final[_Floats]
    missing: Final[_Int32s]
    set_begin: Final[_Int64s]
    set_bits: Final[_UInt64s]
    value: Final[_Floats]
    sums: Final[_Int64s]
    n_samples: Final[_Int64s]
    total: Final[_Int64s]
    wrong: Final[_Int64s]
    weights: Final[list[float]]
    errors: Final[list[float]]

class StumpBooster:
    """Finds the best stump of every round, and reweights the rows."""

    def __init__(
        self,
        matrix: CodeMatrix,
        classes: _Int32s,
        n_classes: int,
        copies: _Int64s,
        sizes: _Floats,
        options: GrowOptions,
    ) -> None: ...
    def learn(self) -> Stumps: ...
    def boost(
        self,
        n_rounds: int,
        n_classes: int,
        learning_rate: float,
        share: float,
        least: float,
        most: float,
        fresh: int,
    ) -> Stumps: ...
    def reweight(self, factor: float, least: float, most: float, fresh: int) -> None: ...
    def predictions(self) -> _Int64s: ...
    def weights(self) -> _Int64s: ...

class StumpTables:
    """Stumps summed into one table per feature: (feature, is_categorical, thresholds, scores)."""

    def __init__(
        self, base: _Floats, tables: list[tuple[int, bool, _Floats, _Floats]], n_features: int
    ) -> None: ...
    def sum(self, columns: _Columns, n_threads: int, n_rows: int) -> _Floats: ...

def edge_sample(n_rows: int) -> _Int64s: ...
def mass_scale(greatest: float, n_rows: int) -> float: ...
def learn_bins(
    columns: _Columns, weights: _Floats | None, max_bins: int, n_threads: int
) -> list[tuple[_Floats, _Floats]]: ...
def bins_of_masses(values: _Floats, masses: _Floats, max_bins: int) -> tuple[_Floats, _Floats]: ...
def bins_of_categories(masses: _Floats) -> NDArray[np.uint32]: ...
def allocate_codes(
    n_rows: int,
    bins: Sequence[tuple[_Floats, _Floats] | None],
    categories: Sequence[NDArray[np.uint32] | None],
) -> CodeMatrix: ...
def write_codes(
    matrix: CodeMatrix, column: int, begin: int, codes: NDArray[np.uint8] | NDArray[np.uint32]
) -> None: ...
def build_codes(
    columns: NDArray[Any] | Sequence[NDArray[Any]],
    n_categories: Sequence[int],
    weights: _Floats | None,
    max_bins: int,
    n_threads: int,
) -> CodeMatrix: ...
def available_cpus() -> int: ...

NO_SPILL: int

def set_spill_threshold(bytes: int) -> int:
    """Put arrays of at least so many bytes into temporary files; return the threshold before."""

def spilling_handler() -> object:
    """Return the memory handler of NumPy arrays that puts large ones into temporary files."""

def set_array_handler(api: object, handler: object) -> object:
    """Choose the memory handler of NumPy arrays in this context, None is NumPy's; return the one before."""

def is_spilled(array: NDArray[Any]) -> bool:
    """Whether an array is in a temporary file."""

def interrupt_at_poll(n: int) -> None:
    """Raise SIGINT at the n-th poll for interrupts from now, counted from 1; 0: off. A test hook."""

def polls_until_interrupt() -> int:
    """Return the polls left until the one that `interrupt_at_poll` chose; 0: none. A test hook."""

def exp(x: _Floats) -> _Floats: ...
def expit(x: _Floats) -> _Floats: ...
def softmax(scores: _Floats) -> _Floats: ...
def log(x: _Floats) -> _Floats: ...
def draw_seeds(random_states: _UInt64s) -> _UInt64s: ...
def draw_words(seeds: _UInt64s, purposes: NDArray[np.uint32]) -> _UInt64s: ...

class BoostOptions:
    """The parameters of gradient boosting; None stands for the default."""

    def __init__(
        self,
        *,
        n_threads: int = ...,
        seed: int = ...,
        first_round: int = ...,
        growth: Literal["leaf-wise", "level-wise", "symmetric"] = ...,
        max_leaf_nodes: int | None = ...,
        max_depth: int | None = ...,
        min_samples_leaf: float = ...,
        min_hessian: float = ...,
        l2_regularization: float = ...,
        min_gain: float = ...,
        random_strength: float = ...,
        splitter: Literal["best", "random"] = ...,
        learning_rate: float = ...,
        sampling: Literal["none", "uniform", "goss", "mvs"] = ...,
        subsample: float = ...,
        top_fraction: float = ...,
        other_fraction: float = ...,
        colsample_bytree: float = ...,
        max_features: int | None = ...,
        monotonic_cst: NDArray[np.int8] | None = ...,
        interaction_cst: Sequence[Sequence[int]] | None = ...,
        categorical_split: Literal["subset", "one-vs-rest"] = ...,
        categorical_smoothing: float = ...,
        categorical_l2: float = ...,
        ledger: bool = ...,
    ) -> None: ...
    def replace(self, *, n_threads: int = ..., seed: int = ..., first_round: int = ...) -> BoostOptions: ...
    n_threads: Final[int]
    seed: Final[int]
    first_round: Final[int]
    growth: Final[str]
    max_leaf_nodes: Final[int]
    max_depth: Final[int]
    min_samples_leaf: Final[float]
    min_hessian: Final[float]
    l2_regularization: Final[float]
    min_gain: Final[float]
    random_strength: Final[float]
    splitter: Final[str]
    learning_rate: Final[float]
    sampling: Final[str]
    subsample: Final[float]
    top_fraction: Final[float]
    other_fraction: Final[float]
    colsample_bytree: Final[float]
    max_features: Final[int]
    monotonic_cst: Final[list[int]]
    interaction_cst: Final[list[list[int]]]
    categorical_split: Final[str]
    categorical_smoothing: Final[float]
    categorical_l2: Final[float]
    ledger: Final[bool]

class Booster:
    """Grows boosted trees on one matrix, round after round."""

    def __init__(self, matrix: CodeMatrix, options: BoostOptions) -> None: ...
    def set_rows(self, y: _Floats, weights: _Floats | None, scores: _Floats) -> None: ...
    def run(self, loss: str, parameters: Sequence[float], n_rounds: int) -> list[GrownTree]: ...
    def step(self, gradient: _Floats, hessian: _Floats, bounded: bool = False) -> list[GrownTree]: ...
    def loss(self, loss: str, parameters: Sequence[float], weights: _Floats | None) -> float: ...
    scores: Final[_Floats]
    times: Final[dict[str, float]]
    round: Final[int]

_BlockSplits: TypeAlias = tuple[_Int32s, _Int32s, NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint8]]

IMPORTANCE_BINS: Final[int]

def weight_facts(total: float, n_positive: int, integer: bool) -> tuple[float, int, bool, float]: ...
def sampling_rule(options: BoostOptions, counts: _Int64s) -> tuple[float, float, bool, bool]: ...
def gradient_scales(
    options: BoostOptions,
    loss: str,
    total_weight: float,
    integer: bool,
    gradient: float,
    hessian: float,
    slack: float,
) -> tuple[float, float, int, int]: ...
def tree_address(seed: int, round: int, k: int) -> int: ...

class BlockRows:
    """Rows of one block while boosted trees are grown."""

    n_rows: Final[int]
    def __init__(
        self,
        first_row: int,
        y: _Floats,
        weights: _Floats | None,
        scores: _Floats,
        log_sum_exp: _Floats | None,
        packed: _Int64s,
        nodes: NDArray[np.uint16],
    ) -> None: ...
    def set_gradients(self, gradient: _Floats | None, hessian: _Floats | None) -> None: ...
    def update_log_sum_exp(self, n_threads: int) -> None: ...
    def gradients(self, loss: str, parameters: Sequence[float], k: int, n_threads: int) -> _Floats: ...
    def importances(self, loss: str, parameters: Sequence[float], k: int, slope: float) -> _Int64s: ...
    def drawn(
        self, loss: str, parameters: Sequence[float], k: int, draw: tuple[Any, ...], n_threads: int
    ) -> _Floats: ...
    def quantize(
        self, loss: str, parameters: Sequence[float], k: int, draw: tuple[Any, ...], n_threads: int
    ) -> tuple[float, float, int, int]: ...
    def add_root(self, out: _Int64s, codes: NDArray[np.uint8]) -> None: ...
    def split(
        self, out: _Int64s, codes: NDArray[np.uint8], splits: _BlockSplits, weight_unit: float
    ) -> _Int64s: ...
    def weigh(self, out: _Int64s, codes: NDArray[np.uint8], nodes: _Int32s, weight_unit: float) -> None: ...
    def leaves(
        self,
        loss: str,
        parameters: Sequence[float],
        k: int,
        leaf_of_node: _Int32s,
        n_leaves: int,
        all: bool,
        n_threads: int,
    ) -> _Floats: ...
    def residuals(
        self, k: int, leaf_of_node: _Int32s, n_leaves: int, all: bool
    ) -> tuple[_Int64s, _Floats]: ...
    def update(self, k: int, leaf_of_node: _Int32s, values: _Floats, n_threads: int) -> None: ...
    def losses(
        self, loss: str, parameters: Sequence[float], weights: _Floats | None, n_threads: int
    ) -> _Floats: ...

class BlockGrower:
    """Grows boosted trees on rows that are read block by block."""

    n_leaves: Final[int]
    def __init__(self, matrix: CodeMatrix, options: BoostOptions) -> None: ...
    def start(
        self,
        histogram: _Int64s,
        draw: tuple[Any, ...],
        quantized: tuple[float, float, int, int],
        score_noise: float,
    ) -> None: ...
    def nodes_to_weigh(self) -> _Int32s: ...
    def give_weights(self, weights: _Int64s) -> None: ...
    def splits(self) -> _BlockSplits: ...
    def give(self, counts: _Int64s, histograms: _Int64s) -> None: ...
    def leaf_of_node(self) -> _Int32s: ...
    def fit_leaves(self, sums: _Floats, loss: str) -> _Floats: ...
    def fit_quantiles(
        self, sizes: _Int64s, residuals: _Floats, loss: str, parameters: Sequence[float], k: int
    ) -> _Floats: ...
    def score_noise(self, round: int, n_counted: float, squares: float, hessians: float) -> float: ...
    def finish(self, sums: _Floats, values: _Floats) -> GrownTree: ...

class QuerySet:
    """Rows grouped by query, with their gains."""

    def __init__(self, rows: _Int64s, begin: _Int64s, gain: _Floats) -> None: ...
    def gradients(
        self,
        loss: str,
        sigma: float,
        n_top: int,
        normalize: bool,
        scores: _Floats,
        address: int,
        n_threads: int,
    ) -> tuple[_Floats, _Floats]: ...
    def ndcg(self, scores: _Floats, k: int, n_threads: int) -> _Floats: ...
    def average_precision(self, scores: _Floats, k: int, n_threads: int) -> _Floats: ...

def room(n_bytes: int) -> NDArray[np.uint8]: ...

class SvmRows:
    """Rows of a dense matrix, or of a sparse one in CSR format."""

    def __init__(
        self, values: _Floats, indices: _Int32s | None, begin: _Int64s | None, n_features: int
    ) -> None: ...

class Kernel:
    """A kernel function and its parameters."""

    def __init__(self, type: int, gamma: float, coef0: float, degree: int) -> None: ...

def solve_dual(
    rows: SvmRows,
    kernel: Kernel,
    linear: _Floats,
    lower: _Floats,
    upper: _Floats,
    start: _Floats,
    kink: float,
    tol: float,
    cache_megabytes: float,
    shrinking: bool,
    max_iter: int,
    record_every: int,
    n_threads: int,
) -> tuple[_Floats, float, float, float, int, int, _Floats]: ...
def kernel_sums(
    rows: SvmRows,
    support: SvmRows,
    kernel: Kernel,
    terms: _Int64s,
    coef: _Floats,
    intercept: _Floats,
    n_threads: int,
) -> _Floats: ...

class OnlineLearner:
    """A perceptron or passive-aggressive learner, epoch by epoch."""

    def __init__(
        self,
        rule: int,
        regression: bool,
        step: float,
        epsilon: float,
        l1: float,
        l2: float,
        fit_intercept: bool,
        average_from: int,
        weights: _Floats,
        intercept: float,
    ) -> None: ...
    def run_epoch(
        self,
        values: _Floats,
        indices: _Int32s | None,
        begin: _Int64s | None,
        target: _Floats,
        weights: _Floats | None,
        order: NDArray[np.uint32],
    ) -> tuple[float, int, int]: ...
    def learned(self) -> tuple[_Floats, float]: ...

def shuffled_rows(rows: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]: ...

# ---- naive Bayes and discriminant analysis ----

def class_moments(
    x: _Floats, codes: _Int32s, n_classes: int, weights: _Floats | None, n_threads: int
) -> tuple[_Floats, _Floats, _Floats]: ...
def class_sums(
    x: _Floats, codes: _Int32s, n_classes: int, weights: _Floats | None, above: float | None, n_threads: int
) -> tuple[_Floats, _Floats]: ...
def within_scatter(
    x: _Floats, codes: _Int32s, mean: _Floats, scale: _Floats, weights: _Floats | None, n_threads: int
) -> _Floats: ...
def gaussian_log_likelihood(
    x: _Floats, mean: _Floats, log_scale: _Floats, precision: _Floats, n_threads: int
) -> _Floats: ...
def integer_codes(x: _Int64s | _Int32s, n_threads: int) -> tuple[_Int32s, _Int64s | _Int32s, int]: ...
def category_counts(
    codes: _Int32s,
    offset: _Int64s,
    classes: _Int32s,
    n_classes: int,
    weights: _Floats | None,
    n_threads: int,
) -> _Floats: ...
def sum_categories(codes: _Int32s, offset: _Int64s, table: _Floats, n_threads: int) -> _Floats: ...
def gram_matrix(
    features: NDArray[np.floating[Any]],
    shift: _Floats,
    weights: _Floats | None,
    residuals: _Floats | None,
    n_threads: int,
) -> tuple[_Floats, _Floats]: ...
def cross_products(
    features: NDArray[np.floating[Any]], shift: _Floats, residuals: _Floats, n_threads: int
) -> _Floats: ...
def matrix_product(
    features: NDArray[np.floating[Any]], coefficients: _Floats, intercept: _Floats, n_threads: int
) -> _Floats: ...
def leave_one_out(
    features: NDArray[np.floating[Any]],
    shift: _Floats,
    vectors: _Floats,
    shrink: _Floats,
    responses: _Floats,
    targets: _Floats,
    base: _Floats | None,
    weights: _Floats | None,
    keep: bool,
    n_threads: int,
) -> tuple[_Floats, _Floats]: ...
def coordinate_descent(
    gram: _Floats,
    linear: _Floats,
    l1: _Floats,
    l2: _Floats,
    start: _Floats,
    tolerances: _Floats,
    max_sweeps: int,
    positive: bool,
) -> tuple[_Floats, _Int64s]: ...
def logistic_loss(
    scores: _Floats, y: _Floats, weights: _Floats | None, n_threads: int
) -> tuple[float, _Floats, _Floats]: ...
def softmax_loss(
    scores: _Floats, classes: _Int32s, weights: _Floats | None, n_threads: int
) -> tuple[float, _Floats, _Floats]: ...
def cholesky_solve(matrix: _Floats, right: _Floats) -> tuple[_Floats, float]: ...

class SparseMatrix:
    def __init__(self, rows: tuple[_Floats, _Int32s, _Int64s], n_columns: int) -> None: ...
    def product(self, coefficients: _Floats, intercept: float, n_threads: int) -> _Floats: ...
    def cross(self, factors: _Floats, squares: bool, n_threads: int) -> _Floats: ...
    def curvature_product(
        self, curvatures: _Floats, direction: _Floats, n_threads: int
    ) -> tuple[_Floats, _Floats]: ...

def dual_descent(
    dense: _Floats | None,
    rows: tuple[_Floats, _Int32s, _Int64s] | None,
    n_columns: int,
    y: _Floats,
    low: _Floats,
    high: _Floats,
    diagonal: _Floats,
    epsilon: float,
    bias: float,
    tolerance: float,
    max_sweeps: int,
    seed: int,
) -> tuple[_Floats, _Floats, int, float]: ...
