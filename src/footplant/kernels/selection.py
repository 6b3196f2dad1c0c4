"""The k-th smallest of some values, without sorting them (Hoare 1961, "Algorithm 65: Find")."""

from __future__ import annotations

from footplant.kernels import uncounted_jit


@uncounted_jit
def select(values, count, k):
    """Return the k-th smallest of the first `count` values; they are reordered, smaller ones before it."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


WARMUP: dict = {}
