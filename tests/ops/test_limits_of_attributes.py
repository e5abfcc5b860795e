"""Attributes at their limits: the last value that is taken, and the first one that is refused, in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hybrid.core.error import OpError
from hybrid.core.op import lookup
from tests.grouped import run

Attrs = dict[str, Any]
whole, single = (lambda *v: np.array(v, np.int64)), (lambda *v: np.array(v, np.float32))
SVM = {"coefficients": single(1, 2, 3, 4), "classlabels_ints": whole(5, 2), "vectors_per_class": whole(3, 1)}
SVM |= {"support_vectors": single(*range(8)), "rho": single(0.5), "kernel_params": single(1, 2, 3)}
CHANCES = {"prob_a": single(-1), "prob_b": single(2)}
GRAMS = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "ngram_counts": (0, 2)}
GRAMS |= {"ngram_indexes": whole(3, 1, 0), "pool_int64s": whole(1, 2, 3, 4)}
MODEL = {"coefficients": single(*range(6)), "classlabels_ints": whole(4, 5, 6)}
SIDES: Attrs = {"top": 0, "bot": 0, "left": 0, "right": 0}

# operator, attributes that fit, other values of some that fit too, and some that do not, with words of the refusal
ROWS: list[tuple[str, Attrs, list[Attrs], list[tuple[Attrs, str]]]] = [
    ("LRN", {"nsize": 3}, [], [({"alpha": np.inf}, "finite"), ({"beta": np.nan}, "finite"),
      ({"knorm": -np.inf}, "finite")]),
    ("Dropout", {}, [{"p": 0}, {"p": 1}], [({"p": -0.01}, "p=-0.01"), ({"p": 1.01}, "0 to 1")]),
    ("_npi_diff", {}, [{"n": 0}, {"n": 3}], [({"n": -1}, "0 or more")]),
    ("_npi_bincount", {}, [{"minlength": 0}, {"minlength": 2**40 - 1}],
     [({"minlength": -1}, "minlength=-1"), ({"minlength": 2**40}, "can hold")]),
    ("_histogram", {}, [{"bin_cnt": 4, "range": (1, 2)}, {"bin_cnt": 4, "range": (2, 2)}],
     [({"bin_cnt": 4}, "or neither"), ({"range": (1, 2)}, "or neither"),
      ({"bin_cnt": 4, "range": (2, 1.5)}, "larger one last"),
      ({"bin_cnt": 4, "range": (1, 2, 3)}, "two numbers")]),
    ("_npi_percentile", {}, [{"q_scalar": 0}, {"q_scalar": 100}], [({"q_scalar": -0.1}, "0 to 100"),
      ({"q_scalar": 100.1}, "0 to 100")]),
    ("_npi_tensorinv", {}, [{"ind": 1}], [({"ind": 0}, "at least 1")]),
    ("_npi_norm", {}, [{"ord": 0}, {"axis": (1,)}, {"axis": (0, 1)}, {"flag": -2}],
     [({"ord": np.inf}, "finite"), ({"ord": -np.inf}, "finite"), ({"axis": ()}, "one axis"),
      ({"axis": (0, 1, 2)}, "one axis"),
      ({"flag": -2, "axis": (0,)}, "flag=-2")]),
    ("_npi_choice", {"a": None, "size": (2,)}, [{"a": 1}], [({"a": 0}, "at least 1")]),
    ("_npi_multinomial", {"n": 0, "pvals": (0.5, 0.5)}, [], [({"n": -1}, "at least 0")]),
    ("_npi_delete", {}, [{"step": -1}], [({"step": 0}, "step=0")]),
    ("_npi_insert_slice", {"step": 2}, [{"step": -1}], [({"step": 0}, "step=0")]),
    ("_npi_insert_scalar", {"int_ind": 0}, [{"int_ind": -2}], [({"int_ind": None}, "int_ind")]),
    ("_npi_boolean_mask_assign_scalar", {"value": 2, "start_axis": 1}, [{"start_axis": 0}],
      [({"start_axis": -1}, "0 or more")]),
    ("_npi_bernoulli", {"size": (2,), "prob": None, "logit": None, "is_logit": False}, [{"prob": 0}, {"prob": 1},
      {"logit": 3.0, "is_logit": True}],
     [({"prob": -0.1}, "prob"), ({"prob": 1.1}, "prob")]),
    ("_cvimresize", {"w": 1, "h": 1}, [{"interp": n} for n in (0, 4, 9)],
     [({"w": 0}, "w=0"), ({"h": 0}, "h=0"), ({"interp": -1}, "interp=-1"), ({"interp": 5}, "interp=5"),
      ({"interp": 10}, "or 9")]),
    ("_cvcopyMakeBorder", SIDES, [{"type": n} for n in (0, 4)],
     [({n: -1}, "negative") for n in SIDES] + [({"type": 5}, "type=5"), ({"type": -1}, "type=-1")]),
    ("_cvimdecode", {}, [{"flag": 0}, {"flag": 1}], [({"flag": 2}, "flag=2"), ({"flag": -1}, "flag=-1")]),
    ("Pooling", {"kernel": (2, 3)},
     [{"pool_type": "lp", "p_value": n} for n in (1, 2, 3)]
     + [{"kernel": (1,)}, {"kernel": (1, 2, 3)}, {"kernel": (), "global_pool": True}, {"stride": (1, 2)}, {"pad": (0, 1)},
        {"pooling_convention": "full"}],
     [({"pool_type": "lp"}, "p_value=None"), ({"pool_type": "lp", "p_value": 4}, "p_value=4"), ({"kernel": ()}, "1 to 3"),
      ({"pool_type": "lp", "p_value": 0}, "p_value=0"), ({"kernel": (2, 2, 2, 2)}, "1 to 3"),
      ({"kernel": (2, 0)}, "positive"),
      ({"stride": (1,)}, "stride"), ({"stride": (1, 0)}, "stride"), ({"pad": (1,)}, "pad="), ({"pad": (0, -1)}, "pad="),
      ({"pooling_convention": "same"}, "same is refused")]),
    ("Pooling_v1", {"kernel": (2, 3)}, [{"kernel": (), "global_pool": True}],
     [({"kernel": (2,)}, "two spatial"), ({"kernel": (2, 2, 2)}, "two spatial"), ({"layout": "NCHW"}, "channels first"),
      ({"pool_type": "lp", "p_value": 2}, "takes max"), ({"kernel": (0, 2)}, "positive sizes")]),
    ("_contrib_AdaptiveAvgPooling2D", {}, [{"output_size": ()}, {"output_size": (1,)}, {"output_size": (1, 2)}],
     [({"output_size": (1, 2, 3)}, "up to two"), ({"output_size": (0,)}, "positive"),
      ({"output_size": (2, 0)}, "positive")]),
    ("_contrib_Proposal", {}, [{"rpn_post_nms_top_n": 1}],
     [({"rpn_post_nms_top_n": 0}, "needs"), ({"scales": ()}, "needs"), ({"ratios": ()}, "needs")]),
    ("_contrib_quantized_conv", {"kernel": (2, 2), "num_filter": 3, "layout": "NCHW"}, [{"layout": None}],
     [({"layout": "NHWC"}, "channels first")]),
    ("_contrib_quantized_act", {"act_type": "relu"}, [], [({"act_type": "tanh"}, "act_type=tanh")]),
    ("_contrib_quantized_pooling", {"kernel": (2, 2)}, [{"pool_type": "avg"}],
     [({"pool_type": "sum"}, "max or avg"), ({"layout": "NHWC"}, "channels first"), ({"kernel": (0, 2)}, "positive")]),
    ("_contrib_quantized_rnn", {"mode": "lstm", "state_size": 2, "num_layers": 1}, [],
     [({"mode": "gru"}, "mode=gru"), ({"projection_size": 2}, "projection_size=2"),
      ({"use_sequence_length": True}, "silently"),
      ({"lstm_state_clip_min": -1, "lstm_state_clip_max": 1}, "silently"), ({"state_size": 0}, "at least 1")]),
    ("RNN", {"mode": "lstm", "state_size": 1, "num_layers": 1}, [{"projection_size": 1}, {"p": 0}, {"p": 0.99},
     {"lstm_state_clip_min": -1, "lstm_state_clip_max": 1}],
     [({"state_size": 0}, "at least 1"), ({"num_layers": 0}, "at least 1"), ({"projection_size": 0}, "at least 1"),
      ({"projection_size": 1, "mode": "gru"}, "mode lstm"), ({"lstm_state_clip_min": -1}, "together"),
      ({"lstm_state_clip_max": 1}, "together"), ({"p": 1}, "p < 1"), ({"p": -0.1}, "p < 1")]),
    ("_random_uniform", {"shape": (2,)}, [{"low": 2, "high": 2}], [({"low": 2, "high": 1.5}, "low not above high")]),
    ("_random_randint", {"low": 2, "high": 3}, [{"low": -(2**31), "high": 2**31}, {"high": 2**40, "dtype": "int64"}],
     [({"high": 2}, "low below high"), ({"dtype": "float32"}, "int32 or int64"), ({"dtype": "int8"}, "int32 or int64"),
      ({"high": 2**31 + 1}, "cannot hold"), ({"low": -(2**31) - 1}, "cannot hold")]),
    ("_sample_unique_zipfian", {"range_max": 1, "shape": (2, 1)}, [{"range_max": 5, "shape": (1, 5)}],
     [({"range_max": 0}, "at least 1"), ({"shape": (2,)}, r"\(batch, n\)"), ({"shape": None}, r"\(batch, n\)"),
      ({"shape": (1, 2)}, "no more than the 1")]),
    ("norm", {}, [{"ord": 1}, {"ord": 2}], [({"ord": 0}, "1 or 2"), ({"ord": 3}, "1 or 2")]),
    ("moments", {"axes": (0,)}, [], [({"axes": ()}, "no axes")]),
    ("_npi_mean", {}, [], [({"initial": 2.0}, "means nothing")]),
    ("IdentityAttachKLSparseReg", {}, [{"sparseness_target": 0}, {"momentum": 0}],
     [({"sparseness_target": 1}, "sparseness_target"), ({"sparseness_target": -0.1}, "sparseness_target"),
      ({"momentum": 1}, "momentum"),
      ({"momentum": -0.1}, "momentum")]),
    ("_zeros_without_dtype", {"shape": (2,)}, [{"dtype": -1}, {"dtype": 0}], [({"dtype": -2}, "number of one"),
      ({"dtype": 99}, "number of one")]),
    ("ROIPooling", {"pooled_size": (2, 3), "spatial_scale": 0.5}, [{"spatial_scale": 0}, {"spatial_scale": 1}],
     [({"spatial_scale": 1.01}, "0 to 1"), ({"spatial_scale": -0.1}, "0 to 1"),
      ({"pooled_size": (2, 3, 4)}, "height, width")]),
    ("_contrib_ROIAlign", {"pooled_size": (2, 3), "spatial_scale": 0.5}, [{"spatial_scale": 0}, {"spatial_scale": 1}],
     [({"spatial_scale": 1.01}, "0 to 1"), ({"pooled_size": (2,)}, "height, width")]),
    ("_contrib_RROIAlign", {"pooled_size": (2, 3), "spatial_scale": 0.5}, [{"spatial_scale": 0}, {"spatial_scale": 1}],
     [({"spatial_scale": 1.01}, "0 to 1"), ({"spatial_scale": -0.1}, "0 to 1"), ({"pooled_size": (2,)}, "height, width")]),
    ("_contrib_DeformablePSROIPooling",
     {"output_dim": 1, "group_size": 1, "pooled_size": 1, "sample_per_part": 1, "trans_std": 0.1, "spatial_scale": 1}, [],
     [({n: 0}, "at least 1|below 1") for n in ("output_dim", "group_size", "pooled_size", "sample_per_part")] 
     + [({"spatial_scale": 2}, "0 to 1")]),
    ("SequenceReverse", {}, [], [({"axis": 1}, "axis=1")]),
    ("SequenceMask", {}, [{"axis": 1}], [({"axis": 2}, "axis=2"), ({"axis": -1}, "axis=-1")]),
    ("_np_reshape", {"newshape": (2, -1)}, [{"newshape": ()}, {"newshape": (0, 3)}],
     [({"newshape": (-1, -1)}, "at most once"), ({"newshape": (-2, 3)}, "wants sizes")]),
    ("_contrib_count_sketch", {"out_dim": 1}, [], [({"out_dim": 0}, "at least 1")]),
    ("slice", {"begin": (1, 2), "end": (3, 4)}, [{"step": (1, -1)}],
     [({"end": (3,)}, "equal lengths"), ({"step": (1,)}, "equal lengths"), ({"step": (1, 0)}, "no zero")]),
    ("Crop", {"num_args": 1, "h_w": (1, 1)}, [{"num_args": 2, "h_w": (0, 0)}, {"offset": (2, 0)}],
     [({"num_args": 3}, "1 or 2"), ({"offset": (1,)}, "pairs"), ({"h_w": (1, 2, 3)}, "pairs"),
      ({"h_w": (0, 2)}, "second input"),
      ({"offset": (0, -1)}, "negative")]),
    ("GridGenerator", {"transform_type": "affine", "target_shape": (1, 1)}, [{"transform_type": "warp", "target_shape": (0, 0)}],
     [({"target_shape": (0, 1)}, "positive"), ({"target_shape": (2, 0)}, "positive"),
      ({"target_shape": (2,)}, "height, width")]),
    ("SpatialTransformer", {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (1, 1)}, [],
     [({"target_shape": (0, 1)}, "positive"), ({"target_shape": (2, 3, 4)}, "height, width")]),
    ("Correlation", {"kernel_size": 1}, [{"kernel_size": 3}],
     [({"kernel_size": 2}, "odd"), ({"stride1": 0}, "at least 1"), ({"stride2": 0}, "at least 1")]),
    ("_contrib_getnnz", {}, [{"axis": None}, {"axis": 0}, {"axis": 1}], [({"axis": 2}, "axis 2"),
      ({"axis": -1}, "axis -1")]),
    ("_contrib_dgl_graph_compact", {"num_args": 4, "graph_sizes": (3, 2), "return_mapping": True}, [],
      [({"num_args": 3}, "two for each")]),
    ("UpSampling", {"scale": 1, "sample_type": "nearest", "num_args": 1}, [{"sample_type": "bilinear", "num_filter": 1}],
     [({"scale": 0}, "at least 1"), ({"sample_type": "bilinear"}, "number of channels")]),
    ("_contrib_BilinearResize2D", {"height": 1, "width": 1},
     [{"height": 0, "width": 0, "scale_height": 2.0, "scale_width": 1.5},
      {"mode": "odd_scale", "scale_height": 2.0, "scale_width": 1.5}],
     [({"height": 0}, "positive"), ({"width": 0}, "positive"), ({"mode": "odd_scale"}, "odd_scale wants"),
      ({"mode": "odd_scale", "scale_height": 2.0}, "odd_scale wants"),
      ({"mode": "odd_scale", "scale_width": 2.0}, "odd_scale wants")]),
    ("depth_to_space", {"block_size": 1}, [], [({"block_size": 0}, "at least 1")]),
    ("_sparse_adagrad_update", {"lr": 0.1}, [{"wd": 0}], [({"wd": 0.1}, "no weight decay")]),
    # -- ONNX
    ("_onnx_Celu", {"alpha": -1}, [], [({"alpha": 0}, "another number")]),
    ("_onnx_Attention", {}, [{"qk_matmul_output_mode": 3}, {"given": ("past_key", "past_value")}],
     [({"qk_matmul_output_mode": 4}, "0 to 3"), ({"qk_matmul_output_mode": -1}, "0 to 3"),
      ({"given": ("past_key",)}, "together"),
      ({"given": ("past_value",)}, "together"), ({"given": ("Q",)}, "wanted some of")]),
    ("_onnx_LinearAttention", {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear"},
     [{"update_rule": "gated_delta", "given": ("decay", "beta")}, {"kv_num_heads": 4}],
     [({"kv_num_heads": 3}, "multiple"), ({"update_rule": "gated"}, "wants decay"),
      ({"update_rule": "delta"}, "wants beta"),
      ({"update_rule": "gated_delta", "given": ("beta",)}, "wants decay")]),
    ("_onnx_Conv", {"kernel_shape": (2, 3)}, [{"pads": (0, 0, 1, 1), "strides": (1, 2)}, {"group": 1}],
     [({"pads": (1, 1, 1)}, "two for every"), ({"pads": (1, 1)}, "as many as"), ({"strides": (1,)}, "as many as"),
      ({"dilations": (1, 0)}, "at least 1"), ({"pads": (0, 0, 0, -1)}, "positive"), ({"group": 0}, "at least 1")]),
    ("_onnx_ConstantOfShape", {"value": single(3)}, [], [({"value": single(1, 2)}, "2 elements"),
      ({"value": single()}, "0 elements")]),
    ("_onnx_ms_GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2},
     [{"do_rotary": True, "given": ("cos_cache", "sin_cache")}],
     [({"do_rotary": True}, "cos_cache"), ({"do_rotary": True, "given": ("cos_cache",)}, "sin_cache")]),
    ("_onnx_ReverseSequence", {}, [{"batch_axis": 0, "time_axis": 1}],
     [({"batch_axis": 0}, "wanted 0 and 1"), ({"time_axis": 2}, "wanted 0 and 1")]),
    ("_onnx_ml_LabelEncoder", {"keys_tensor": whole(1, 2), "values_tensor": whole(3, 4), "default_tensor": whole(0)}, [],
     [({"keys_tensor": whole(1)}, "1 keys and 2 values")]),
    ("_onnx_ml_FeatureVectorizer", {"num_args": 2, "inputdimensions": (2, 0)}, [{"inputdimensions": ()}],
     [({"inputdimensions": (2,)}, "each of 2"), ({"inputdimensions": (2, -1)}, "each of 2")]),
    ("_onnx_ml_LinearClassifier", MODEL, [{"intercepts": single(1, 2, 3)}],
     [({"coefficients": single(1, 2, 3, 4)}, "do not fit"), ({"intercepts": single(1, 2)}, "do not fit")]),
    ("_onnx_ml_LinearRegressor", {"coefficients": single(*range(6)), "targets": 3}, [{"intercepts": single(1)},
      {"intercepts": single(1, 2, 3)}],
     [({"targets": 4}, "each of 4"), ({"intercepts": single(1, 2)}, "2 intercepts")]),
    ("_onnx_ml_SVMRegressor", {"coefficients": single(1, 2), "n_supports": 2, "support_vectors": single(*range(6))},
     [{"kernel_params": single(1, 2, 3)}, {"kernel_params": single()}],
     [({"n_supports": -1}, "do not fit"), ({"n_supports": 3}, "do not fit"),
      ({"support_vectors": single(1, 2, 3)}, "do not fit"),
      ({"kernel_params": single(1)}, "gamma"), ({"kernel_params": single(1, 2)}, "gamma")]),
    ("_onnx_ml_SVMClassifier", SVM, [CHANCES],
     [({"coefficients": single(1, 2, 3)}, "go together"), ({"support_vectors": single(1, 2, 3)}, "go together"),
      ({"vectors_per_class": whole(5, -1)}, "go together"), ({"prob_a": single(1)}, "go together"),
      ({**CHANCES, "prob_a": single(1, 2)}, "go together"), ({"support_vectors": single()}, "go together")]),
    ("_onnx_BatchNormalization", {}, [{"num_outputs": 3, "training_mode": True}],
      [({"num_outputs": 3}, "without training_mode")]),
    ("_onnx_LRN", {"size": 1}, [], [({"size": 0}, "at least 1")]),
    ("_onnx_LpPool", {"kernel_shape": (2,), "p": 1}, [], [({"p": 0}, "at least 1")]),
    ("_onnx_LpNormalization", {"p": 1}, [{"p": 2}], [({"p": 0}, "1 or 2"), ({"p": 3}, "1 or 2")]),
    ("_onnx_ms_QLinearConcat", {"axis": 0, "num_args": 5}, [{"num_args": 8}], [({"num_args": 2}, "each array"),
      ({"num_args": 6}, "each array")]),
    ("_onnx_RNN", {"hidden_size": 2, "activations": ("Tanh",)}, [{"activations": ("tanh", "RELU"), "direction": "bidirectional"}],
     [({"direction": "bidirectional"}, "wanted 2"), ({"activations": ("Tanh", "Relu")}, "wanted 1"),
      ({"activations": ("Sine",)}, "Sine")]),
    ("_onnx_Pad", {}, [{"given": ("constant_value", "axes")}], [({"given": ("axes",)}, "constant_value with axes")]),
    ("_onnx_StringNormalizer", {}, [{"case_change_action": c} for c in ("LOWER", "UPPER")],
      [({"case_change_action": "lower"}, "LOWER or")]),
    ("_onnx_TfIdfVectorizer", GRAMS, [{"weights": single(1, 2, 3)}, {"mode": "IDF"}, {"min_gram_length": 2}],
     [({"mode": "tf"}, "TF, IDF"), ({"pool_int64s": None}, "one of"), ({"pool_strings": np.array(["a"], object)}, "one of"),
      ({"min_gram_length": 0}, "1 <= min"), ({"max_gram_length": 3}, "1 <= min"),
      ({"max_gram_length": 1, "min_gram_length": 2}, "1 <= min"),
      ({"ngram_counts": (0, 5)}, "in order"), ({"ngram_counts": (2, 0)}, "in order"),
      ({"ngram_indexes": whole()}, "one for each"),
      ({"ngram_indexes": whole(3, -1, 0)}, "negative"), ({"weights": single(1, 2)}, "2 weights"),
      ({"ngram_indexes": whole(3, 1)}, "pool of 3")]),
    ("_onnx_ImageDecoder", {}, [{"pixel_format": p} for p in ("BGR", "Grayscale")],
      [({"pixel_format": "rgb"}, "RGB, BGR")]),
    ("_onnx_training_Adam", {"num_args": 6}, [{"num_args": 10}], [({"num_args": 2}, "multiple of 4"),
      ({"num_args": 7}, "multiple of 4")]),
]  # fmt: skip


def test_the_last_value_is_taken_and_the_next_is_refused() -> None:
    def check(row: tuple[str, Attrs, list[Attrs], list[tuple[Attrs, str]]]) -> None:
        name, base, taken, refused = row
        for attrs in ({}, *taken):
            lookup(name).bind(**base | attrs)
        for attrs, words in refused:
            try:
                lookup(name).bind(**base | attrs)
            except OpError as error:
                assert re.search(words, str(error)), f"{attrs}: {error}, wanted {words!r}"
            else:
                raise AssertionError(f"{attrs} was taken")

    run([(row[0], row) for row in ROWS], check)
