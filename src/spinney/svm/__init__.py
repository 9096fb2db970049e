"""Support vector machines: classification, regression and anomalies."""

from spinney.svm.classifier import SVC
from spinney.svm.one_class import OneClassSVM
from spinney.svm.regressor import SVR
from spinney.svm.solver import SmoLedger

__all__ = ["SVC", "SVR", "OneClassSVM", "SmoLedger"]
