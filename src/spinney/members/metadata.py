"""scikit-learn's metadata routing of meta-estimators whose members are copies of one estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_values
from spinney.data.weights import check_weights


def require_routing(method: str, metadata: Mapping[str, Any]) -> None:
    """Raise InputError if there is metadata, and metadata routing is switched off.

    >>> require_routing("fit", {})
    """
    if metadata and not get_config()["enable_metadata_routing"]:
        raise InputError(
            f"{method} does not accept {show_values(list(metadata))}: passing them on to the members is only "
            "supported if enable_metadata_routing=True",
            fix="Call sklearn.set_config(enable_metadata_routing=True).",
        )


class RoutesToEstimator(MetaEstimatorMixin):  # type: ignore[misc]
    """Mixin of meta-estimators that hand arguments of ``fit`` and ``partial_fit`` to their members.

    `_template` returns the estimator that members are copies of.
    """

    _template: Callable[[], Any]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments go to which methods of the members with metadata routing.

        Returns
        -------
        MetadataRouter
            scikit-learn's description of the routing.
        """
        mapping = MethodMapping()
        for method in ("fit", "partial_fit"):
            if hasattr(type(self), method):
                mapping.add(caller=method, callee=method)
        return MetadataRouter(owner=self).add(estimator=self._template(), method_mapping=mapping)

    def _route(
        self, method: str, weights: ArrayLike | None, metadata: Mapping[str, Any], n_rows: int
    ) -> tuple[Floats | None, dict[str, Any]]:
        """Return the sample weights and the other arguments that this method of the members gets."""
        require_routing(method, metadata)
        checked = check_weights(weights, n_rows)
        if not get_config()["enable_metadata_routing"]:
            return checked, {}
        # Only what was given: an absent weight is not a weight of None.
        given = {**metadata} if checked is None else {**metadata, "sample_weight": checked}
        routed = dict(process_routing(self, method, **given)["estimator"][method]) if given else {}
        return routed.pop("sample_weight", None), routed
