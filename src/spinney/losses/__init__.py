"""What learners lower: the split criteria of trees and the losses of boosting, with their links."""

from spinney.losses.losses import Loss

__all__ = ["Loss"]
