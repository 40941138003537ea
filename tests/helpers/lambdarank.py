"""An objective with the arithmetic of LightGBM's lambdarank and the swaps of our kernel.

LightGBM looks up the sigmoid in a table, adds 32-bit floats in the order of the pairs, and divides
by the ideal DCG of the first ranks.
"""

import math

import numpy as np

from skgraded import Judgments
from skgraded._kernels import gradients as kernel
from skgraded._kernels import sums
from skgraded.judgments import layout_of

BINS = 1024 * 1024


class LightgbmArithmetic:
    """An objective for lgb.train."""

    def __init__(self, gains, truncation=30, sigmoid=1.0, norm=True):
        self.gains, self.truncation, self.sigmoid, self.norm = gains, truncation, sigmoid, norm
        self.lowest = -50 / sigmoid / 2
        self.factor = BINS / (-self.lowest - self.lowest)

    def __deepcopy__(self, memo):
        return self

    def __call__(self, preds, dataset):
        """Gradients and hessians."""
        gradients, hessians = np.zeros((2, len(preds)), dtype=np.float32)
        ends = np.cumsum(dataset.get_group())
        for start, end in zip(np.append(0, ends), ends, strict=False):
            rows = slice(start, end)
            gradients[rows], hessians[rows] = self._of_query(dataset.get_label()[rows], preds[rows])
        weight = dataset.get_weight()
        if weight is not None:
            gradients, hessians = gradients * weight, hessians * weight
        return gradients, hessians

    def _sigmoids(self, bins):
        """The values in these bins of LightGBM's table."""
        exponents = (bins / self.factor + self.lowest) * self.sigmoid
        return np.array([1 / (1 + math.exp(exponent)) for exponent in exponents])

    def _swaps(self, labels, order):
        n = len(order)
        layout = layout_of(Judgments(labels[order]))
        gains = np.array([self.gains[int(level)] for level in layout.levels])
        discount = np.array([1 / math.log2(2.0 + i) for i in range(n)])
        best = np.sort(labels)[::-1][: self.truncation]
        ideal = 0.0
        for label, of_rank in zip(best, discount, strict=False):
            ideal += of_rank * self.gains[int(label)]
        plan = sums.Plan(sums.LINEAR, gains, sums.ORDINAL, n, discount)
        scale = 1 / ideal if ideal > 0 else 0.0
        return scale * kernel.swaps_of_ranking(layout.codes, plan)

    def _of_query(self, labels, preds):
        order = np.argsort(-preds, kind="stable")
        grades, scores = labels[order], preds[order]
        gradients, hessians = np.zeros((2, len(order)), dtype=np.float32)
        total = 0.0
        swaps = self._swaps(labels, order)
        for a in range(min(self.truncation, len(order) - 1)):
            below = a + 1 + np.flatnonzero(grades[a + 1 :] != grades[a])
            up = np.where(grades[below] < grades[a], 1, -1).astype(np.float32)
            apart = (scores[a] - scores[below]) * up.astype(float)
            delta = np.abs(swaps[a, below])
            if self.norm and scores[0] != scores[-1]:
                delta /= float(np.float32(0.01)) + np.abs(apart)
            at = ((apart - self.lowest) * self.factor).astype(int)
            wrong = self._sigmoids(np.clip(at, 0, BINS - 1))
            push = wrong * (-self.sigmoid * delta)
            curve = (wrong * (1 - wrong)) * (self.sigmoid * self.sigmoid * delta)
            push32, curve32 = push.astype(np.float32), curve.astype(np.float32)
            gradients[below] -= up * push32
            hessians[below] += curve32
            # cumsum adds in order, as LightGBM does
            gradients[a] = np.cumsum(np.append(gradients[a], up * push32), dtype=np.float32)[-1]
            hessians[a] = np.cumsum(np.append(hessians[a], curve32), dtype=np.float32)[-1]
            total = np.cumsum(np.append(total, -2 * push))[-1]
        if self.norm and total > 0:
            factor = math.log2(1 + total) / total
            gradients, hessians = gradients * factor, hessians * factor  # rounded once, to 32 bits
        rank = np.argsort(order)
        return gradients[rank], hessians[rank]
