"""Losses of gradient boosting with their links, and split criteria of trees."""

from spinney.losses.losses import Loss

__all__ = ["Loss"]
