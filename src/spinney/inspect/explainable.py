"""Methods of every model that is a sum of trees: SHAP values, the path of a row, a table of all nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.inspect.shap import ShapValues, shap_values
from spinney.inspect.tree_view import DecisionSteps, decision_steps, nodes_frame
from spinney.tree.partial_dependence import partial_dependence
from spinney.tree.tree_sum import TreeSum


class Explainable:
    """Mixin of models that are a sum of trees, which `tree_sum` describes."""

    @abstractmethod
    def tree_sum(self) -> TreeSum:
        """Return the trees whose sum is the output of the model.

        Returns
        -------
        TreeSum
            The trees, with the values that are summed.
        """

    def shap_values(
        self,
        X: Any,
        *,
        background: Any = None,
        interactions: bool = False,
        output: Literal["raw", "probability"] | None = None,
        n_jobs: int | None = None,
    ) -> ShapValues:
        """Compute exact SHAP values; see `spinney.inspect.shap_values`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to explain.
        background : array-like or data frame of shape (n_background, n_features) or None, default=None
            Rows whose values absent features take; None averages by the training weight in the trees.
        interactions : bool, default=False
            Whether to divide the contributions among pairs of features.
        output : {"raw", "probability"} or None, default=None
            What to explain; None is what the trees sum to.
        n_jobs : int or None, default=None
            Number of threads; None is that of the model.

        Returns
        -------
        ShapValues
            Contributions, base values and the rows.

        Examples
        --------
        >>> from spinney import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])
        >>> model.shap_values([[0.2]]).values.tolist()
        [[-0.5]]
        """
        return shap_values(
            self, X, background=background, interactions=interactions, output=output, n_jobs=n_jobs
        )

    def decision_steps(self, X: Any) -> DecisionSteps:
        """Return the path of one row through all trees, with the contribution of each step.

        Parameters
        ----------
        X : array-like or data frame of shape (1, n_features)
            The row.

        Returns
        -------
        DecisionSteps
            Conditions that the row meets, and how each changes the output; they sum to the output.

        Examples
        --------
        >>> from spinney import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 3.0])
        >>> steps = model.decision_steps([[0.2]])
        >>> steps.condition, steps.contribution.ravel().tolist()
        (('x0 <= 0.5',), [-0.5])
        """
        return decision_steps(self.tree_sum(), X)

    def nodes_frame(self) -> Any:
        """Return a table with one line per node of all trees.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Tree, node, depth, parent, children, kind of split, feature, split as text, threshold, child of
            missing values, weight, number of rows, impurity (gain of the split in boosting) and values.

        Examples
        --------
        >>> model.nodes_frame().query("tree == 0 and depth <= 1")  # doctest: +SKIP
        """
        return nodes_frame(self.tree_sum())

    def _compute_partial_dependence_recursion(self, grid: NDArray[Any], features: Sequence[int]) -> Floats:
        """Return the mean output at each point; scikit-learn's ``partial_dependence`` calls it.

        As in scikit-learn, the constant of gradient boosting is left out.  -> (n_outputs, n_points)
        """
        return partial_dependence(self.tree_sum(), grid, features)
