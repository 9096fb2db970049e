"""Many classes and many labels by members that tell two apart."""

from spinney.multiclass.chain import ClassifierChain
from spinney.multiclass.one_vs_one import OneVsOneClassifier
from spinney.multiclass.one_vs_rest import OneVsRestClassifier

__all__ = ["ClassifierChain", "OneVsOneClassifier", "OneVsRestClassifier"]
