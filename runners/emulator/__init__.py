"""A discrete-event model of hierarchical parallel decoding: an emulated server and a simulator over one engine."""
