"""Write a tiny InternVL and its Medusa draft whose answer to any image is one given text, token for token.

    python make_checkpoint.py OUT TEXT_FILE [--heads 3] [--right 0.8]

Run by the environment that serves it. How: the decoder's layers add next to nothing, so that the next token depends on
the last one alone; the text is cut into pieces that are all different, each a token of its own, and the head maps each
token to its successor. Draft head k maps a token to the one k + 2 further on, and on a known share of the tokens to a
wrong one, so that the number of verification steps can be worked out beforehand: it is written to OUT/truth.json.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>")
END = "<|im_end|>"
HIDDEN, HEAD_DIM, LAYERS = 96, 32, 2
VISION, VISION_LAYERS, PATCH, IMAGE = 64, 2, 14, 448
LAYER_SCALE = 1e-3
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>\n{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONFIGURATION = """from transformers import PretrainedConfig
from transformers.models.qwen3 import Qwen3Config


class InternVisionConfig(PretrainedConfig):
    model_type = "intern_vit_6b"


class InternVLChatConfig(PretrainedConfig):
    model_type = "internvl_chat"
    is_composition = True

    def __init__(self, vision_config=None, llm_config=None, **rest):
        super().__init__(**rest)
        self.vision_config = InternVisionConfig(**(vision_config or {}))
        self.llm_config = Qwen3Config(**(llm_config or {}))
"""
Weights = dict[str, torch.Tensor]


def distinct_pieces(text: str) -> list[str]:
    """Cut a text into pieces of two characters or more, no two of them equal."""
    pieces: list[str] = []
    seen: set[str] = set()
    start, end = 0, 2
    while start < len(text):
        piece = text[start:end]
        if end < len(text) and (piece in seen or len(text) - end < 2):
            end += 1
            continue
        if piece in seen:  # the last piece repeats an earlier one: join it to the one before
            seen.discard(pieces[-1])
            pieces[-1] += piece
        else:
            pieces.append(piece)
            seen.add(piece)
        start, end = end, end + 2
    return pieces


def build_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """Bytes as the base vocabulary, and each piece a token of its own."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={char: index for index, char in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    tokenizer.add_tokens([AddedToken(piece, special=False, normalized=False) for piece in pieces])
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """The files from which transformers loads a tokenizer."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 40960,
        "eos_token": END,
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "additional_special_tokens": list(SPECIAL[1:]),
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)


def noise(*shape: int) -> torch.Tensor:
    """Small random weights."""
    return torch.randn(*shape) * 0.05


def mapping_head(embeddings: torch.Tensor, mapping: dict[int, int]) -> torch.Tensor:
    """Weights whose greatest output for a token's embedding is the token it is mapped to."""
    head = torch.zeros_like(embeddings)
    for token, target in mapping.items():
        head[target] += embeddings[token]
    return 8 * head


def language_weights(embeddings: torch.Tensor, successor: dict[int, int]) -> Weights:
    """A Qwen3 decoder that adds next to nothing, between the embeddings and the mapping head."""
    weights = {
        "model.embed_tokens.weight": embeddings,
        "model.norm.weight": torch.ones(HIDDEN),
        "lm_head.weight": mapping_head(embeddings, successor),
    }
    heads, inner = HIDDEN // HEAD_DIM, 2 * HIDDEN
    for layer in range(LAYERS):
        rows: Weights = {
            "input_layernorm.weight": torch.ones(HIDDEN),
            "post_attention_layernorm.weight": torch.ones(HIDDEN),
            "self_attn.q_proj.weight": noise(heads * HEAD_DIM, HIDDEN),
            "self_attn.k_proj.weight": noise(HEAD_DIM, HIDDEN),
            "self_attn.v_proj.weight": noise(HEAD_DIM, HIDDEN),
            "self_attn.o_proj.weight": noise(HIDDEN, heads * HEAD_DIM) * LAYER_SCALE,
            "self_attn.q_norm.weight": torch.ones(HEAD_DIM),
            "self_attn.k_norm.weight": torch.ones(HEAD_DIM),
            "mlp.gate_proj.weight": noise(inner, HIDDEN),
            "mlp.up_proj.weight": noise(inner, HIDDEN),
            "mlp.down_proj.weight": noise(HIDDEN, inner) * LAYER_SCALE,
        }
        weights |= {f"model.layers.{layer}.{name}": value for name, value in rows.items()}
    return {f"language_model.{name}": value for name, value in weights.items()}


def vision_weights() -> Weights:
    """A small InternViT and the projection to the decoder."""
    places = (IMAGE // PATCH) ** 2 + 1
    weights: Weights = {
        "vision_model.embeddings.class_embedding": noise(1, 1, VISION),
        "vision_model.embeddings.position_embedding": noise(1, places, VISION),
        "vision_model.embeddings.patch_embedding.weight": noise(VISION, 3, PATCH, PATCH),
        "vision_model.embeddings.patch_embedding.bias": noise(VISION),
        "mlp1.0.weight": torch.ones(4 * VISION),
        "mlp1.0.bias": torch.zeros(4 * VISION),
        "mlp1.1.weight": noise(HIDDEN, 4 * VISION),
        "mlp1.1.bias": noise(HIDDEN),
        "mlp1.3.weight": noise(HIDDEN, HIDDEN),
        "mlp1.3.bias": noise(HIDDEN),
    }
    shapes = {
        "attn.qkv": (3 * VISION, VISION),
        "attn.proj": (VISION, VISION),
        "mlp.fc1": (2 * VISION, VISION),
        "mlp.fc2": (VISION, 2 * VISION),
    }
    for layer in range(VISION_LAYERS):
        prefix = f"vision_model.encoder.layers.{layer}."
        for name, (rows, columns) in shapes.items():
            weights |= {f"{prefix}{name}.weight": noise(rows, columns), f"{prefix}{name}.bias": noise(rows)}
        for name in ("norm1", "norm2"):
            weights |= {f"{prefix}{name}.weight": torch.ones(VISION), f"{prefix}{name}.bias": torch.zeros(VISION)}
        weights |= {f"{prefix}{name}": torch.ones(VISION) * 0.1 for name in ("ls1", "ls2")}
    return weights


def model_config(vocabulary: int, end: int) -> dict[str, Any]:
    """config.json of the InternVL."""
    language = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HIDDEN // HEAD_DIM,
        "num_key_value_heads": 1,
        "head_dim": HEAD_DIM,
        "vocab_size": vocabulary,
        "max_position_embeddings": 40960,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "rope_theta": 1e6,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "max_window_layers": LAYERS,
        "torch_dtype": "bfloat16",
        "eos_token_id": end,
    }
    vision = {
        "architectures": ["InternVisionModel"],
        "model_type": "intern_vit_6b",
        "hidden_size": VISION,
        "intermediate_size": 2 * VISION,
        "num_hidden_layers": VISION_LAYERS,
        "num_attention_heads": 2,
        "image_size": IMAGE,
        "patch_size": PATCH,
        "num_channels": 3,
        "qkv_bias": True,
        "qk_normalization": False,
        "hidden_act": "gelu",
        "norm_type": "layer_norm",
        "layer_norm_eps": 1e-6,
        "use_flash_attn": False,
        "initializer_factor": 0.1,
        "attention_dropout": 0.0,
        "dropout": 0.0,
        "drop_path_rate": 0.0,
        "torch_dtype": "bfloat16",
    }
    return {
        "architectures": ["InternVLChatModel"],
        "model_type": "internvl_chat",
        "auto_map": {"AutoConfig": "configuration_internvl_chat.InternVLChatConfig"},
        "llm_config": language,
        "vision_config": vision,
        "downsample_ratio": 0.5,
        "dynamic_image_size": True,
        "force_image_size": IMAGE,
        "max_dynamic_patch": 2,
        "min_dynamic_patch": 1,
        "ps_version": "v2",
        "select_layer": -1,
        "template": "internvl2_5",
        "use_thumbnail": False,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "hidden_size": HIDDEN,
        "vocab_size": vocabulary,  # vLLM reads it at the top level when the draft is medusa
    }


def save_model(folder: Path, weights: Weights, config: dict[str, Any], end: int) -> None:
    """Weights and configuration files of one model."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {name: value.to(torch.bfloat16).contiguous() for name, value in weights.items()}
    save_file(plain, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [end]}))


def draft_mappings(
    chain: Sequence[int], heads: int, right: float, generator: random.Random
) -> tuple[list[dict[int, int]], list[list[bool]]]:
    """For each draft head what it maps the chain's tokens to, and where it is right."""
    mappings: list[dict[int, int]] = []
    hits: list[list[bool]] = []
    for head in range(heads):
        mapping, hit = {}, []
        for place, token in enumerate(chain):
            target = chain[min(place + head + 2, len(chain) - 1)]
            good = generator.random() < right and place + head + 2 < len(chain)
            wrong = next(other for other in iter(lambda: generator.choice(chain), None) if other != target)
            mapping[token] = target if good else wrong
            hit.append(good)
        mappings.append(mapping)
        hits.append(hit)
    return mappings, hits


def verification_steps(length: int, hits: Sequence[Sequence[bool]]) -> tuple[int, int]:
    """Verification steps, and draft tokens accepted, until the chain of `length` tokens is out.

    The first token comes from the prefill. Drafts are made from the last token but one, whose successor the target
    model gave; each step verifies them and adds one token.
    """
    place, steps, accepted = 1, 0, 0
    while place < length:
        good = 0
        while good < len(hits) and place + good + 1 <= length and hits[good][place - 1]:
            good += 1
        place += good + 1
        accepted += good
        steps += 1
    return steps, accepted


def main() -> None:
    """Write the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--right", type=float, default=0.8)
    args = parser.parse_args()
    torch.manual_seed(0)
    text = args.text.read_text(encoding="utf-8")
    pieces = distinct_pieces(text)
    tokenizer = build_tokenizer(pieces)
    ids = {name: tokenizer.token_to_id(name) for name in (*SPECIAL, *pieces)}
    start = tokenizer.encode("<|im_start|>assistant\n").ids[-1]
    chain = [start, *(ids[piece] for piece in pieces), ids[END]]
    vocabulary = -(-tokenizer.get_vocab_size() // 64) * 64
    embeddings = torch.nn.functional.normalize(torch.randn(vocabulary, HIDDEN), dim=1)
    successor = dict(pairwise(chain))

    model, draft = args.out / "internvl", args.out / "medusa"
    weights = language_weights(embeddings, successor) | vision_weights()
    save_model(model, weights, model_config(vocabulary, ids[END]), ids[END])
    (model / "configuration_internvl_chat.py").write_text(CONFIGURATION)
    save_tokenizer(tokenizer, model)

    mappings, hits = draft_mappings(chain, args.heads, args.right, random.Random(1))
    heads: Weights = {}
    for head, mapping in enumerate(mappings):
        heads |= {
            f"{head}.0.linear.weight": torch.zeros(HIDDEN, HIDDEN),
            f"{head}.0.linear.bias": torch.zeros(HIDDEN),
            f"{head}.1.weight": mapping_head(embeddings, mapping),
        }
    draft_config = {
        "architectures": ["MedusaModel"],
        "model_type": "medusa",
        "hidden_size": HIDDEN,
        "vocab_size": vocabulary,
        "truncated_vocab_size": vocabulary,
        "medusa_num_heads": args.heads,
        "medusa_num_layers": 1,
        "medusa_fc_bias": True,
        "torch_dtype": "bfloat16",
    }
    save_model(draft, heads, draft_config, ids[END])
    tokens = len(chain) - 1
    steps, accepted = verification_steps(tokens, hits)
    truth = {"text": text, "tokens": tokens, "heads": args.heads, "steps": steps, "accepted": accepted}
    (args.out / "truth.json").write_text(json.dumps(truth, ensure_ascii=False))
    print(json.dumps({key: value for key, value in truth.items() if key != "text"}))


if __name__ == "__main__":
    main()
