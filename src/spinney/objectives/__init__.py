"""What learners lower: the split criteria of trees and the losses of boosting, with their links."""

from spinney.objectives.losses import Loss

__all__ = ["Loss"]
