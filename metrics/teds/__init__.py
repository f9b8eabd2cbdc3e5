"""Table structure and content: TEDS and TEDS-S, equal to the official OmniDocBench v1.6 scorer."""

from metrics.teds.metric import TEDS, TEDS_S, Teds, TedsReason, teds_both

__all__ = ["TEDS", "TEDS_S", "Teds", "TedsReason", "teds_both"]
