"""Paged key-value memory: blocks leased by streams, shared by reference count, kept as prefix cache until evicted."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Lease:
    """Blocks that hold one prefix; `references` counts the streams that read them."""

    key: str
    blocks: int = 0
    references: int = 0


@dataclass(slots=True)
class BlockPool:
    """A fixed number of blocks. Blocks are free, in use, or cached (unreferenced but still holding a prefix).

    free + in use + cached = total at all times. Cached leases are evicted from their tail, oldest first.
    """

    total: int
    free: int = field(init=False)
    cached_blocks: int = field(init=False, default=0)
    evicted_blocks: int = field(init=False, default=0)
    _cached: OrderedDict[str, Lease] = field(init=False, default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.free = self.total

    @property
    def available(self) -> int:
        """Blocks that can be taken now."""
        return self.free + self.cached_blocks

    @property
    def in_use(self) -> int:
        """Blocks held by referenced leases and streams."""
        return self.total - self.free - self.cached_blocks

    def take(self, blocks: int) -> None:
        """Move blocks into use, evicting cached prefixes when free ones do not suffice."""
        if blocks > self.available:
            raise ValueError(f"{blocks} blocks asked for, {self.available} available")
        while self.free < blocks:
            self._evict(blocks - self.free)
        self.free -= blocks

    def give(self, blocks: int) -> None:
        """Return blocks that hold nothing worth keeping."""
        self.free += blocks

    def cached(self, key: str) -> Lease | None:
        """The cached lease of a prefix, or None."""
        return self._cached.get(key)

    def revive(self, lease: Lease) -> None:
        """Bring a cached lease back into use, with one reference."""
        del self._cached[lease.key]
        self.cached_blocks -= lease.blocks
        lease.references = 1

    def release(self, lease: Lease, keep: int) -> None:
        """Drop one reference; on the last one keep the first `keep` blocks as cache and free the others."""
        lease.references -= 1
        if lease.references:
            return
        keep = min(keep, lease.blocks)
        self.give(lease.blocks - keep)
        lease.blocks = keep
        if keep:
            older = self._cached.pop(lease.key, None)
            if older is not None:
                self.cached_blocks -= older.blocks
                self.give(older.blocks)
            self._cached[lease.key] = lease
            self.cached_blocks += keep

    def reset_cache(self) -> None:
        """Forget every unreferenced prefix."""
        self.give(self.cached_blocks)
        self.cached_blocks = 0
        self._cached.clear()

    def _evict(self, wanted: int) -> None:
        key, lease = next(iter(self._cached.items()))
        taken = min(wanted, lease.blocks)
        lease.blocks -= taken
        self.cached_blocks -= taken
        self.evicted_blocks += taken
        self.give(taken)
        if not lease.blocks:
            del self._cached[key]
