"""The protocol `omnidocbench-1.6`: the official OmniDocBench v1.6 numbers, to the last digit."""
