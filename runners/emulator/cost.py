"""How long one engine iteration takes, from what it reads and computes: a roofline with few fitted constants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hardware:
    """One accelerator by its data sheet: memory in bytes, bandwidth in bytes/s, dense BF16 FLOP/s."""

    name: str
    memory_bytes: float
    bandwidth: float
    flops: float


@dataclass(frozen=True, slots=True)
class Tower:
    """Shape of a transformer: the language decoder, or the vision encoder (then kv_heads = heads)."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    gated: bool

    @property
    def layer_parameters(self) -> float:
        """Weights of one layer."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return attention + (3 if self.gated else 2) * self.hidden * self.intermediate

    @property
    def parameters(self) -> float:
        """Weights of all layers."""
        return self.layers * self.layer_parameters


@dataclass(frozen=True, slots=True)
class Model:
    """A vision-language model's shape. `window_patches` is how many patches attend to each other (None: all)."""

    name: str
    decoder: Tower
    encoder: Tower
    vocabulary: int
    window_patches: int | None
    bytes_per_weight: int = 2

    @property
    def weight_bytes(self) -> float:
        """Weights that a decoding step reads: layers and output head."""
        return self.bytes_per_weight * (self.decoder.parameters + self.decoder.hidden * self.vocabulary)

    @property
    def resident_bytes(self) -> float:
        """Weights that stay in memory."""
        return self.weight_bytes + self.bytes_per_weight * self.encoder.parameters

    @property
    def kv_bytes_per_token(self) -> float:
        """Key and value bytes of one token over all layers."""
        return 2 * self.bytes_per_weight * self.decoder.layers * self.decoder.kv_heads * self.decoder.head_dim


@dataclass(frozen=True, slots=True)
class Drafter:
    """What drafting adds to an iteration: passes one after another, each of `layers` layers and its weights."""

    name: str
    window: int
    passes: int
    layers_per_pass: int
    weight_bytes_per_pass: float


@dataclass(frozen=True, slots=True)
class Constants:
    """The fitted constants of a deployment (hardware + engine + host); everything else is a shape or a data sheet.

    bandwidth_efficiency and compute_efficiency: reached share of the data sheet. host_step_s: fixed time of an
    iteration. host_stream_s: time of an iteration per live stream. eager_layer_s: launching one drafter layer.
    """

    bandwidth_efficiency: float
    compute_efficiency: float
    host_step_s: float
    host_stream_s: float
    eager_layer_s: float


@dataclass(frozen=True, slots=True)
class Work:
    """What one iteration does. `kv_tokens` is the sum of the contexts that decoding streams read; `prefill_context`
    the sum over prefilled tokens of the context each attends to."""

    streams: int = 0
    decode_tokens: int = 0
    kv_tokens: int = 0
    prefill_tokens: int = 0
    prefill_context: float = 0.0
    encode_s: float = 0.0
    drafting: bool = False


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds of an iteration on given hardware."""

    hardware: Hardware
    model: Model
    constants: Constants
    drafter: Drafter | None = None

    def step_s(self, work: Work) -> float:
        """Time of one iteration: linear layers, attention, encoder, drafting and host, one after another."""
        seconds = self.constants.host_step_s + self.constants.host_stream_s * work.streams
        if work.decode_tokens or work.prefill_tokens:
            seconds += self._linear_s(work.decode_tokens + work.prefill_tokens, work.streams)
        seconds += work.kv_tokens * self.model.kv_bytes_per_token / self._bandwidth
        seconds += self._attention_s(work.prefill_context)
        seconds += work.encode_s
        if work.drafting and self.drafter is not None:
            seconds += self._draft_s(self.drafter, work.streams)
        return seconds

    def encode_s(self, patches: int) -> float:
        """Vision encoder time for one image."""
        if not patches:
            return 0.0
        encoder = self.model.encoder
        width = min(patches, self.model.window_patches or patches)
        attention = 4.0 * width * encoder.heads * encoder.head_dim * encoder.layers
        return patches * (2 * encoder.parameters + attention) / self._flops

    def kv_blocks(self, block_tokens: int, memory_share: float, reserve_bytes: float) -> int:
        """Blocks that fit beside weights and the engine's reserve for activations."""
        drafter_bytes = self.drafter.weight_bytes_per_pass if self.drafter else 0.0
        space = self.hardware.memory_bytes * memory_share - self.model.resident_bytes - drafter_bytes - reserve_bytes
        return max(int(space / (self.model.kv_bytes_per_token * block_tokens)), 0)

    @property
    def _bandwidth(self) -> float:
        return self.hardware.bandwidth * self.constants.bandwidth_efficiency

    @property
    def _flops(self) -> float:
        return self.hardware.flops * self.constants.compute_efficiency

    def _linear_s(self, tokens: int, streams: int) -> float:
        head = self.model.decoder.hidden * self.model.vocabulary
        compute = 2.0 * (tokens * self.model.decoder.parameters + max(streams, 1) * head) / self._flops
        return max(self.model.weight_bytes / self._bandwidth, compute)

    def _attention_s(self, token_contexts: float) -> float:
        decoder = self.model.decoder
        return 4.0 * token_contexts * decoder.heads * decoder.head_dim * decoder.layers / self._flops

    def _draft_s(self, drafter: Drafter, streams: int) -> float:
        launch = drafter.passes * drafter.layers_per_pass * self.constants.eager_layer_s
        read = drafter.passes * drafter.weight_bytes_per_pass / self._bandwidth
        compute = 2.0 * streams * drafter.window * drafter.weight_bytes_per_pass / 2 / self._flops
        return launch + max(read, compute)
