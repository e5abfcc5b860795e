"""The tenth planting: 100 faults in lines drawn by lot, by four who saw no test, of the product at 35fee1d; those that have a test.

Rows are as in faults.py."""

from __future__ import annotations

ROWS: list[tuple[str, ...]] = [
    (
        "a00-linear-in-all",
        "hybrid/ops/adjoint.py",
        "        linear_in = self.linear_in or range(len(arrays))\n",
        "        linear_in = self.linear_in\n",
        "tests/table/test_gradients.py -k test_gradients_of_gradients_are_derivatives_of_gradients",
    ),
    (
        "a01-scope-truthy",
        "hybrid/contrib/autograd.py",
        "        if self._prev is not None:\n",
        "        if self._prev:\n",
        "tests/compat/test_modules.py -k test_old_autograd",
    ),
    (
        "a02-offset-of-joined",
        "hybrid/execution/lower.py",
        "self.tensor(Entry(node)), offset, None\n                offset += tensor.shape[1]\n",
        "self.tensor(Entry(node)), offset, None\n                    offset += tensor.shape[1]\n",
        "tests/graph/test_executor.py -k test_parts_of_several_concatenations",
    ),
    (
        "a03-mutates-dropped",
        "hybrid/ir/differentiate.py",
        '        if node.op is not None and ("rng" in node.op.needs or node.op.mutates):\n',
        '        if node.op is not None and "rng" in node.op.needs:\n',
        "tests/graph/test_loops.py -k test_what_a_body_changes_cannot_run_again",
    ),
    (
        "a04-local-accumulated",
        "bridge/faces/words.py",
        "    d = found.local if found.local is not None and not found.local.equal else found.accumulated",
        "    d = found.accumulated",
        "tests/bridge/test_report.py -k test_verified",
    ),
    (
        "a05-names-shared",
        "converters/builder.py",
        "    def __init__(self, opset: int, forms: Forms = PLAIN):\n"
        "        self.opset, self.forms = opset, forms\n"
        "        self.nodes: list[OnnxNode] = []\n"
        "        self.initializers: dict[str, np.ndarray] = {}\n"
        "        self.names = Names()\n",
        "    def __init__(self, opset: int, forms: Forms = PLAIN, names: Names = Names()):\n"
        "        self.opset, self.forms = opset, forms\n"
        "        self.nodes: list[OnnxNode] = []\n"
        "        self.initializers: dict[str, np.ndarray] = {}\n"
        "        self.names = names\n",
        "tests/converters/test_training.py -k test_batch_norms_give_what_mxnet_gave_when_training",
    ),
    (
        "a06-range-start",
        "converters/ops/creation.py",
        "        size = found.item() - start.item()\n",
        "        size = found.item()\n",
        "tests/converters/test_symbolic_shapes.py -k begin_anew",
    ),
    (
        "a07-params-none",
        "hybrid/module/python_module.py",
        "        return {}, {}\n",
        "        return None, None\n",
        "tests/module/test_programs.py -k test_program_shows_what_it_showed_in_mxnet",
    ),
    (
        "a08-narrow-result",
        "hybrid/passes/widen_half.py",
        "(_FLOAT32 if is_narrow(own) else wanted)",
        "(_FLOAT32 if is_narrow(result) else wanted)",
        "tests/graph/test_widening.py -k test_outputs_in_between_are_the_rounded_numbers",
    ),
    (
        "a09-residual-after",
        "hybrid/passes/epilogue.py",
        "        if found.residual is not None or not found.linear:\n",
        "        if found.residual is not None:\n",
        "tests/models/test_quantized_graphs.py -k test_what_is_fused",
    ),
    (
        "a10-wide-halves",
        "converters/training.py",
        "    return [x if d == dtype else sym.Cast(x, dtype=dtype.name) for d, x in zip(known, inputs)]",
        "    return [sym.Cast(x, dtype=dtype.name) if d.itemsize == 2 else x for d, x in zip(known, inputs)]",
        "tests/converters/test_training.py -k test_losses_of_other_dtypes",
    ),
    (
        "a11-std-var",
        "hybrid/ops/normalization.py",
        '        return ("output", "mean", "std")\n'
        "\n"
        "    def num_visible_outputs(self):\n"
        "        return 3 if self.output_mean_var else 1\n"
        "\n"
        "    def infer_input_shapes(self, shapes, outputs):\n"
        "        return [merge(shapes[0], outputs[0]), (self.num_groups,), (self.num_groups,)]\n",
        '        return ("output", "mean", "var")\n'
        "\n"
        "    def num_visible_outputs(self):\n"
        "        return 3 if self.output_mean_var else 1\n"
        "\n"
        "    def infer_input_shapes(self, shapes, outputs):\n"
        "        return [merge(shapes[0], outputs[0]), (self.num_groups,), (self.num_groups,)]\n",
        "tests/asked -k names",
    ),
    (
        "a12-init-any",
        "hybrid/gluon/contrib/estimator/estimator.py",
        "        if all(p._data is not None or p._deferred_init for p in self.net.collect_params().values()):\n",
        "        if any(p._data is not None or p._deferred_init for p in self.net.collect_params().values()):\n",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "a13-retain-only",
        "hybrid/autograd.py",
        "    retain = create_graph if retain_graph is None else retain_graph\n"
        "    with StateScope(create_graph, train_mode):\n"
        "        _, found = accumulate(arrays, grads, [v._origin for v in wanted], retain or create_graph, "
        "create_graph)\n",
        "    with StateScope(create_graph, train_mode):\n"
        "        _, found = accumulate(arrays, grads, [v._origin for v in wanted], bool(retain_graph), "
        "create_graph)\n",
        "tests/autograd/test_cached_op.py -k test_gradients_of_gradients",
    ),
    (
        "a14-forced-native",
        "bridge/engines.py",
        "        results = Program(graph, self.model.params, native=False).run(self.part_values(graph, values))\n",
        "        results = Program(graph, self.model.params).run(self.part_values(graph, values))\n",
        "tests/bridge/test_engines.py",
    ),
    (
        "a15-active-kept",
        "converters/static_support.py",
        "                yield from self.makers(end, frame, frozenset())\n        self.active.pop()\n",
        "                yield from self.makers(end, frame, frozenset())\n",
        "tests/converters/test_coverage.py -k test_the_table_is_up_to_date",
    ),
    (
        "a16-initializer-lost",
        "hybrid/feed_forward.py",
        "epoch_size, optimizer, initializer, **kwargs)\n        model.fit(",
        "epoch_size, optimizer, **kwargs)\n        model.fit(",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "a17-twice-without-index",
        "hybrid/ir/infer.py",
        "    keys = [(id(e.node), e.index) for e in node.inputs]\n    if len(set(keys))",
        "    keys = [id(e.node) for e in node.inputs]\n    if len(set(keys))",
        "tests/native/test_kernels.py -k test_applications",
    ),
    (
        "a18-name-kept",
        "hybrid/symbol.py",
        '    name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)\n    symbols',
        '    name, attr = kwargs.get("name"), kwargs.get("attr")\n    symbols',
        "tests/training/test_interleavings.py -k test_states_that_inference_itself_writes_to_are_no_constants",
    ),
    (
        "a19-optional-bias",
        "hybrid/ops/onnx/integer.py",
        '    optional = ("B",)\n\n    numbers = ("x_scale", "x_zero_point", "y_scale", "y_zero_point")\n',
        '    optional = ("bias",)\n\n    numbers = ("x_scale", "x_zero_point", "y_scale", "y_zero_point")\n',
        "tests/table/test_axes.py",
    ),
    (
        "a20-not-reflected",
        "hybrid/eager/array.py",
        "            return invoke(_scalar(row.reflected, lhs), (rhs,), out)\n",
        "            return invoke(_scalar(row.scalar, lhs), (rhs,), out)\n",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "a21-axis-beyond",
        "converters/ops/shape.py",
        "        elif isinstance(size, Size) and axis < len(own) and size == own[axis]:\n",
        "        elif isinstance(size, Size) and size == own[axis]:\n",
        "tests/converters/test_export_examples.py -k test_written_otherwise_and_the_same",
    ),
    (
        "a22-visible-shapes",
        "hybrid/ops/ordering.py",
        "        return [shape, shape] if len(self.output_names()) == 2 else shape\n",
        "        return [shape, shape] if self.num_visible_outputs() == 2 else shape\n",
        "tests/ops/test_boundaries.py -k test_values_at_boundaries",
    ),
    (
        "a23-partition",
        "bridge/inputs.py",
        '        name, _, rest = text.rpartition(":")\n',
        '        name, _, rest = text.partition(":")\n',
        "tests/bridge/test_cli.py -k test_any_name_is_shown_as_it_is",
    ),
    (
        "a24-diagflat-below",
        "hybrid/ops/np_array.py",
        "        return (math.prod(data) + abs(self.k),) * 2\n",
        "        return (math.prod(data) + self.k,) * 2\n",
        "tests/table/test_half.py -k test_what_is_accepted_runs",
    ),
    (
        "a25-ctx-order",
        "hybrid/gluon/base_parameter.py",
        "            if set(wanted) != set(there):\n",
        "            if wanted != there:\n",
        "tests/gluon/test_parameter.py -k test_values_from_files_take_the_place_that_the_parameter_has",
    ),
    (
        "a26-own-metrics-unnamed",
        "hybrid/gluon/contrib/estimator/estimator.py",
        '        for metric in self._train_metrics:\n            metric.name = f"training {metric.name}"\n',
        '            for metric in self._train_metrics:\n                metric.name = f"training {metric.name}"\n',
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "a27-lp-dilations",
        "converters/ops/pooling.py",
        "    attrs = _windows(auto_pad, ceil_mode, dilations, kernel_shape, pads, strides)\n"
        '    made = _pooling(g, x, "lp"',
        '    attrs = _windows(auto_pad, ceil_mode, None, kernel_shape, pads, strides)\n    made = _pooling(g, x, "lp"',
        "tests/converters/test_import_ways.py -k test_a_node_is_read_by_the_operators_that_mean_it",
    ),
    (
        "b00-bincount-one-more-than-minlength",
        "hybrid/ops/np_count.py",
        "        return max(self.minlength, int(data.max()) + 1 if data.size else 0)\n",
        "        return max(self.minlength, int(data.max()) if data.size else 0) + 1\n",
        "tests/table/test_goldens.py -k test_computes_what_mxnet_gave",
    ),
    (
        "b01-sequential-states-among-arguments",
        "hybrid/module/sequential_module.py",
        "            states.update(own_states)\n",
        "            arguments.update(own_states)\n",
        "tests/asked -k names",
    ),
    (
        "b02-modifier-begin-state-unchecked",
        "hybrid/rnn/rnn_cell.py",
        "        self._want_unmodified()\n        self.base_cell._modified = False\n",
        "        self.base_cell._modified = False\n",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "b03-correlation-pads-order",
        "converters/ops/spatial.py",
        "b.Pad(x, [0, 0, pad, pad] * 2)",
        "b.Pad(x, [0, 0, 0, 0, pad, pad, pad, pad])",
        "tests/converters/test_export_examples.py -k test_written_otherwise_and_the_same",
    ),
    (
        "b04-resize-linear-negative-weights",
        "hybrid/ops/onnx/resize.py",
        'np.maximum(0, 1 - np.abs(distance)) if self.mode == "linear"',
        '1 - np.abs(distance) if self.mode == "linear"',
        "tests/ops/test_onnx_resize.py -k test_resized_by_linear_and_cubic_kernels",
    ),
    (
        "b05-kl-momentum-unchecked",
        "hybrid/ops/legacy.py",
        '                return f"got {name} {getattr(self, name)}, wanted 0 to 1"\n        return None\n',
        '                return f"got {name} {getattr(self, name)}, wanted 0 to 1"\n            return None\n',
        "tests/ops/test_limits_of_attributes.py -k test_the_last_value_is_taken_and_the_next_is_refused",
    ),
    (
        "b06-norm-axes-sorted",
        "hybrid/ops/np_norm.py",
        "        return found\n\n    def root(self",
        "        return tuple(sorted(found))\n\n    def root(self",
        "tests/converters/test_export_ways.py -k test_written_operators_compute_the_same",
    ),
    (
        "b07-input-size-zero",
        "bridge/inputs.py",
        "        if any(d < 1 for d in shape):\n",
        "        if any(d < 0 for d in shape):\n",
        "tests/bridge/test_engines.py -k inputs_are_read",
    ),
    (
        "b08-insert-at-end-refused",
        "hybrid/ops/np_select.py",
        "not -size <= self.int_ind <= size:",
        "not -size <= self.int_ind < size:",
        "tests/ops/test_limits_of_attributes.py -k test_the_last_shape_is_taken_and_the_next_is_refused",
    ),
    (
        "b09-attention-output-mode-order",
        "hybrid/ops/onnx/attention.py",
        "(done.raw, done.capped, done.biased, done.shares)",
        "(done.raw, done.biased, done.capped, done.shares)",
        "tests/ops/test_onnx_options.py -k test_options_mean_what_the_standard_says",
    ),
    (
        "b10-quantized-add-levels-of-lhs",
        "hybrid/ops/quantization_layers.py",
        "scale / (LEVELS[kinds[1]] / reaches[1])",
        "scale / (LEVELS[kinds[0]] / reaches[1])",
        "tests/converters/test_export_examples.py -k test_written_otherwise_and_the_same",
    ),
    (
        "b11-inspect-operators-of-model",
        "bridge/command/running.py",
        "    if operators:\n        with errors(as_json, report_to):\n            table",
        "    if operators and model is None:\n        with errors(as_json, report_to):\n            table",
        "tests/bridge/test_report.py -k test_the_models_that_are_handed_on",
    ),
    (
        "b12-declared-dtype-wins",
        "hybrid/ir/infer.py",
        '            chosen = given.get(node.name, declared_dtype(node.attrs.get("__dtype__")))\n',
        '            chosen = declared_dtype(node.attrs.get("__dtype__"))\n'
        "            if chosen is None:\n"
        "                chosen = given.get(node.name)\n",
        "tests/symbol/test_infer.py -k give_way",
    ),
    (
        "b13-stack-axes-of-first",
        "converters/ops/join.py",
        "    wide = [b.unsqueeze(x, op.new_axes(x.rank)) for x in data]\n",
        "    new = op.new_axes(data[0].rank)\n    wide = [b.unsqueeze(x, new) for x in data]\n",
        "tests/table/test_axes.py -k test_axes_counted_from_behind",
    ),
    (
        "b14-stft-window-gradient-conj",
        "hybrid/ops/onnx/signal.py",
        "np.real(dframes * x[:, places].conj())",
        "np.real(dframes * x[:, places])",
        "tests/ops/test_onnx_options.py -k test_options_mean_what_the_standard_says",
    ),
    (
        "b15-backward-cached-without-wanted",
        "hybrid/eager/cached_op.py",
        "        key = heads, wanted, split.program.training, split.watched\n",
        "        key = heads, split.program.training, split.watched\n",
        "tests/gluon/test_rnn.py -k test_training",
    ),
    (
        "b16-svc-offset-of-class",
        "hybrid/ops/onnx/ml_machine.py",
        "                + offsets[len(scores)]\n",
        "                + offsets[i]\n",
        "tests/ops/test_onnx_machines.py -k test_support_vector_classifiers_vote_by_pairs",
    ),
    (
        "b18-loss-counts-rows",
        "hybrid/metric.py",
        "self._add(ndarray.sum(as_nd(pred)).asscalar(), pred.size)",
        "self._add(ndarray.sum(as_nd(pred)).asscalar(), pred.shape[0])",
        "tests/module/test_module.py -k test_parts_that_do_not_fit_where_they_are_computed_with",
    ),
    (
        "b19-two-numbers-of-numpy",
        "hybrid/eager/array.py",
        "        if isinstance(rhs, _NUMBERS):\n            return row.plain(lhs, rhs)\n",
        "        if isinstance(rhs, (int, float)):\n            return row.plain(lhs, rhs)\n",
        "tests/asked -k names",
    ),
    (
        "b20-col2im-even-pads",
        "hybrid/ops/onnx/convolution.py",
        "inner = tuple(slice(b, b + n) for b, n in zip(pads, sizes))",
        "inner = tuple(slice(b, p - b) for b, p in zip(pads, padded))",
        "tests/converters/test_import_table.py -k test_float64_stays_float64",
    ),
    (
        "b21-cast-round-mode-dropped",
        "converters/ops/onnx/cast.py",
        "to=target, saturate=bool(saturate), round_mode=round_mode)",
        "to=target, saturate=bool(saturate))",
        "tests/converters/test_import_math.py -k test_how_floats_of_8_bits_round_is_handed_on",
    ),
    (
        "b22-cast-says-old-dtype",
        "converters/builder.py",
        "self._casts[key] = Value(made.name, x.shape, wanted)",
        "self._casts[key] = Value(made.name, x.shape, x.dtype)",
        "tests/converters/test_matching_dynamic.py -k test_targets",
    ),
    (
        "b23-sum-operand-by-range-of-data",
        "hybrid/ops/subgraph.py",
        "scale_of(added.dtype, *added_range)",
        "scale_of(added.dtype, *data_range)",
        "tests/models/test_quantization.py -k test_the_answers_are_near_those_that_mxnet_gave",
    ),
    (
        "b24-every-output-is-the-first",
        "converters/node_importer.py",
        'results = [ImportedValue("", s.shape, s.dtype, None, Entry(node, i)) for i, s in enumerate(specs)]',
        'results = [ImportedValue("", s.shape, s.dtype, None, Entry(node)) for s in specs]',
        "tests/converters/test_import_layers.py -k test_places_of_maxima",
    ),
    (
        "b25-fc-channel-wise-stored-int8",
        "hybrid/ops/subgraph.py",
        '        if name in ("weight", "bias") and not self.channel_wise_quantize:\n',
        '        if name in ("weight", "bias"):\n',
        "tests/models/test_quantized_graphs.py -k test_what_is_put_on_integers",
    ),
    (
        "b26-output-of-a-node",
        "bridge/models.py",
        '(o, f"{o}_output", by_node.get(o))',
        "(by_node.get(o), o)",
        "tests/bridge/test_pairing.py -k test_outputs_are_cut",
    ),
    (
        "b27-gelu-tanh-square",
        "converters/ops/onnx/activation.py",
        "    cubed = b.Mul(b.Mul(x, x), x)\n",
        "    cubed = b.Mul(x, x)\n",
        "tests/converters/test_import_table.py -k test_nodes_mean_what_they_meant",
    ),
    (
        "c00-first-takes-seconds-activation",
        "hybrid/passes/fuse_depthwise_pointwise.py",
        'attrs |= {f"first_{name}": getattr(earlier, name) for name in ("slope", "low", "high")}',
        'attrs |= {f"first_{name}": getattr(op, name) for name in ("slope", "low", "high")}',
        "tests/graph/test_widening.py -k test_a_deep_network_is_as_exact_as_its_outputs_can_be",
    ),
    (
        "c01-pad-refuses-any-empty-axis",
        "hybrid/ops/expand.py",
        "empty = (d is not UNKNOWN and d == 0 and max(around) > 0 for d, around in zip(data, self.pad_width))",
        "empty = (d is not UNKNOWN and d == 0 for d in data)",
        "tests/ops/test_limits_of_inputs.py -k test_inputs_that_fit_are_taken_and_the_next_are_refused",
    ),
    (
        "c02-negative-axis-not-counted",
        "hybrid/ops/onnx/quantize.py",
        "axis = axis_of(self, self.axis, x.ndim) if x.ndim > 1 else 0\n            if self.block_size:",
        "axis = self.axis if x.ndim > 1 else 0\n            if self.block_size:",
        "tests/ops/test_onnx_options.py -k test_options_mean_what_the_standard_says",
    ),
    (
        "c03-shape-of-words-refused",
        "hybrid/ops/creation.py",
        '    """Numbers that a shape holds; the values of data do not matter."""\n\n    objects = True\n',
        '    """Numbers that a shape holds; the values of data do not matter."""\n',
        "tests/gluon/test_symbol_block.py -k words_and_sequences",
    ),
    (
        "c04-duplicates-by-raw-axes",
        "hybrid/ops/common.py",
        "    chosen = {axis_of(op, a, rank) for a in axes}\n    if len(chosen) < len(axes):",
        "    chosen = {axis_of(op, a, rank) for a in axes}\n    if len(set(axes)) < len(axes):",
        "tests/ops/test_limits_of_inputs.py -k test_inputs_that_fit_are_taken_and_the_next_are_refused",
    ),
    (
        "c05-random-crop-height-width",
        "hybrid/image/image.py",
        "new_width, new_height = scale_down((width, height), size)\n    x0 = random.randint(0, width - new_width)",
        "new_height, new_width = scale_down((width, height), size)\n    x0 = random.randint(0, width - new_width)",
        "tests/io/test_images.py -k test_random_parts_lie_inside_of_long_pictures",
    ),
    (
        "c06-uniform-log-forgotten",
        "hybrid/ops/density.py",
        'if self.density.name == "uniform" and not self.is_log:\n            out = 1',
        'if self.density.name == "uniform":\n            out = 1',
        "tests/converters/test_export_examples.py -k test_written_otherwise_and_the_same",
    ),
    (
        "c07-rroi-places-not-widened",
        "converters/ops/deformable_roi.py",
        "channels, places = data.dim(1), b.wide(rois)\n    maps = pixels",
        "channels, places = data.dim(1), rois\n    maps = pixels",
        "tests/converters/test_export_ways.py -k test_written_operators_compute_the_same",
    ),
    (
        "c08-spatial-transformer-takes-integers",
        "hybrid/ops/spatial.py",
        "    refuses = WHOLE\n"
        "\n"
        "    target_shape: tuple[int, ...] = (0, 0)\n"
        '    transform_type: Literal["affine"]\n'
        "    sampler_type",
        '    target_shape: tuple[int, ...] = (0, 0)\n    transform_type: Literal["affine"]\n    sampler_type',
        "tests/ops/test_domains.py -k without_a_kernel",
    ),
    (
        "c09-heads-without-top",
        "hybrid/ops/custom.py",
        "heads = dy[:-1] if self.adapter.top else ()",
        "heads = dy[:-1]",
        "tests/operator/test_custom.py -k test_a_loss_needs_no_gradient_and_states_are_updated",
    ),
    (
        "c10-epoch-end-short-circuit",
        "hybrid/gluon/contrib/estimator/estimator.py",
        "stopped = any([h.epoch_end(self) for h in epoch_end])",
        "stopped = any(h.epoch_end(self) for h in epoch_end)",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "c11-begin-epoch-counts-as-update",
        "hybrid/optimizer/descent.py",
        "self.init_updates = begin_epoch * updates_per_epoch",
        "self.init_updates = begin_epoch",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "c12-sparse-side-first",
        "hybrid/ndarray.py",
        "        for side in (lhs, rhs):\n"
        '            if isinstance(side, NDArray) and side.stype != "default":\n'
        "                from .eager.sparse import broadcast\n"
        "\n"
        "                return broadcast(row, lhs, rhs)\n",
        "        for side, other in ((lhs, rhs), (rhs, lhs)):\n"
        '            if isinstance(side, NDArray) and side.stype != "default":\n'
        "                from .eager.sparse import broadcast\n"
        "\n"
        "                return broadcast(row, side, other)\n",
        "tests/ndarray/test_sparse.py -k test_arithmetic_of_all_kinds_of_arrays",
    ),
    (
        "c13-agreeing-case-not-inspected",
        "bridge/judge.py",
        "if index == 0 or suspect:",
        "if suspect:",
        "tests/bridge/test_judge.py -k test_nodes_that_are_wrong_are_told_though_outputs_agree",
    ),
    (
        "c14-vector-of-table",
        "hybrid/passes/fuse_layer_norm.py",
        "return rewriter.reshape(entry, (size,)) if last == size and set(ones) <= {1} else None",
        "return rewriter.reshape(entry, (size,)) if last == size else None",
        "tests/graph/test_passes_decisions.py -k test_which_gamma_and_beta_layer_norm_has",
    ),
    (
        "c15-moveaxis-not-sorted",
        "hybrid/ops/shape.py",
        "for to, axis in sorted(zip(destination, source)):",
        "for to, axis in zip(destination, source):",
        "tests/ops/test_limits_of_attributes.py -k test_the_last_shape_is_taken_and_the_next_is_refused",
    ),
    (
        "c16-conv-unknown-kernel",
        "converters/ops/convolution.py",
        "return w.shape is not None and is_known(w.shape) and 3 <= len(w.shape) <= 5 and in_networks(x, w, b)",
        "return w.shape is not None and 3 <= len(w.shape) <= 5 and in_networks(x, w, b)",
        "tests/converters/test_import_ways.py -k test_a_node_is_read_by_the_operators_that_mean_it",
    ),
    (
        "c17-stack-forgets-valid-length",
        "hybrid/gluon/rnn/rnn_cell.py",
        "inputs, state = cell.unroll(length, inputs, states[at : at + count], layout, merge, valid_length)",
        "inputs, state = cell.unroll(length, inputs, states[at : at + count], layout, merge)",
        "tests/gluon/test_rnn.py -k test_inference",
    ),
    (
        "c18-report-writes-into-arguments",
        "hybrid/test_utils/tolerance.py",
        "left, right = (np.array(x) for x in np.broadcast_arrays(a, b))",
        "left, right = np.broadcast_arrays(a, b)",
        "tests/compat/test_test_utils.py -k test_tolerances_are_handed_on",
    ),
    (
        "c19-released-but-not-spent",
        "hybrid/eager/cached_op.py",
        "        super().release()\n        self.args = self.residuals = None",
        "        self.args = self.residuals = None",
        "tests/autograd/test_autograd.py -k test_the_second_way_back_is_refused_unless_it_was_asked_for",
    ),
    (
        "c20-scalar-shape-not-written",
        "converters/onnx_types.py",
        'dims = "" if shape is None else',
        'dims = "" if not shape else',
        "tests/answers/test_answers.py -k test_answers_are_as_they_were",
    ),
    (
        "c21-master-of-every-weight",
        "hybrid/optimizer/base.py",
        "if not (self.multi_precision and weight.dtype == np.float16):",
        "if not self.multi_precision:",
        "tests/asked/test_asked.py -k test_answers_what_mxnet_answered",
    ),
    (
        "c22-make-loss-mean",
        "converters/training.py",
        'if op.name == "make_loss":\n        return sym.sum(data)',
        'if op.name == "make_loss":\n        return sym.mean(data)',
        "tests/converters/test_training.py -k test_losses_have_the_gradients_that_mxnet_starts_with",
    ),
    (
        "c23-densenet201-is-169",
        "hybrid/gluon/model_zoo/vision/densenet.py",
        "return get_densenet(201, **kwargs)",
        "return get_densenet(169, **kwargs)",
        "tests/gluon/test_model_zoo.py -k test_same_as_mxnet",
    ),
    (
        "c24-extra-inputs-ignored",
        "hybrid/eager/functions.py",
        "if missing or extra:",
        "if missing:",
        "tests/ndarray/test_ndarray.py -k test_errors",
    ),
    (
        "c25-psroi-groups-before-outputs",
        "converters/ops/deformable_roi.py",
        "b.dims(0, classes, op.output_dim // classes, groups**2, -1))\n"
        "    listed = b.reshape(b.transpose(listed, [0, 1, 3, 4, 2])",
        "b.dims(0, classes, groups**2, op.output_dim // classes, -1))\n"
        "    listed = b.reshape(b.transpose(listed, [0, 1, 2, 4, 3])",
        "tests/converters/test_export_examples.py -k test_written_otherwise_and_the_same",
    ),
    (
        "c26-no-exponents-in-code",
        "hybrid/ops/fused.py",
        "                try:\n"
        "                    float(opcode)\n"
        "                except ValueError:\n"
        '                    return f"got code {self.code!r}, where {opcode} is no opcode and no number"\n',
        '                if not opcode.lstrip("-").replace(".", "", 1).isdecimal():\n'
        '                    return f"got code {self.code!r}, where {opcode} is no opcode and no number"\n',
        "tests/table/test_half.py -k test_what_is_accepted_runs",
    ),
    (
        "c27-empty-bools",
        "converters/reader.py",
        "if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:",
        "if array.dtype == np.bool_ and array.view(np.uint8).max() > 1:",
        "tests/converters/test_reader.py -k test_every_data_type_from_raw_data_and_typed_fields",
    ),
    (
        "d00-output-sources-skipped",
        "hybrid/native/src/kernels/move/parts.cc",
        "    if (part.source == Part::output) return nullptr;\n"
        "    if (part.source != Part::input || part.in != of) continue;",
        "    if (part.source != Part::input || part.in != of) continue;",
        "tests/native/test_kernels.py -k test_applications",
    ),
    (
        "d01-gate-unclamped",
        "hybrid/native/src/kernels/rnn/cell.cc",
        "return inverse(1.f + exp(at_most(-v, splat_reg(86.f)))); });",
        "return inverse(1.f + exp(-v)); });",
        "tests/native/test_kernels.py -k test_applications",
    ),
    (
        "d02-line-not-reset",
        "hybrid/native/src/kernels/conv/direct.cc",
        "      if (++line == lines) line = 0, ++n;",
        "      if (++line == lines) ++n;",
        "tests/native",
    ),
    (
        "d03-relu-of-one",
        "hybrid/native/src/kernels/chain/words.cc",
        '"add+relu", CHEAP, [](auto a, auto b) { return relu(a + b); }',
        '"add+relu", CHEAP, [](auto a, auto b) { return relu(a) + b; }',
        "tests/native/test_chain.py -k test_compositions",
    ),
    (
        "d04-volume-by-steps",
        "hybrid/native/src/kernels/pool/plain.cc",
        "        volume_(axes[0].size * slice_) {",
        "        volume_(axes[0].steps * slice_) {",
        "tests/native/test_pool.py -k test_pooling",
    ),
    (
        "d05-embedding-wrong-dtype",
        "hybrid/native/src/kernels/move/gather.cc",
        "  const Split split(call.in[1], 0);\n  if (!Positions::can(call.in[0].dtype)",
        "  const Split split(call.in[1], 0);\n  if (!Positions::can(call.in[1].dtype)",
        "tests/native/test_move.py -k test_indexing_moves_every_dtype",
    ),
    (
        "d06-counted-before-had",
        "hybrid/native/src/engine/memory.cc",
        "      ++stats_.misses;\n"
        "    }\n"
        "    auto* memory = from_system(size);\n"
        "    if (!memory && release_all()) memory = from_system(size);\n"
        "    if (memory) {\n"
        "      std::lock_guard<std::mutex> guard(lock);\n"
        "      count(size);\n"
        "    }\n"
        "    return memory;",
        "      ++stats_.misses;\n"
        "      count(size);\n"
        "    }\n"
        "    auto* memory = from_system(size);\n"
        "    if (!memory && release_all()) memory = from_system(size);\n"
        "    return memory;",
        "tests/native/test_memory.py -k too_large",
    ),
    (
        "d07-zero-as-given",
        "hybrid/native/src/kernels/integer/convolution.cc",
        "        to.zero[i] = left_.zero(zero);",
        "        to.zero[i] = zero;",
        "tests/native/test_integer.py -k test_convolutions",
    ),
    (
        "d08-both-wanted",
        "hybrid/native/src/kernels/norm/backward.cc",
        "common, fixed || !training, momentum);",
        "common, fixed && !training, momentum);",
        "tests/native/test_norm.py -k test_batch_norm_backward",
    ),
    (
        "d09-from-of-inputs-only",
        "hybrid/native/src/kernels/move/strided.cc",
        "    from += part.from * element_;",
        "    if (part.source == Part::input) from += part.from * element_;",
        "tests/native/test_move.py -k test_moving",
    ),
    (
        "d10-split-stride",
        "hybrid/native/src/kernels/move/parts.cc",
        "static_cast<int>(i), done, 0, {{outer, shape[axis] * inner, row}, {row, 1, 1}}});",
        "static_cast<int>(i), done, 0, {{outer, shape[axis], row}, {row, 1, 1}}});",
        "tests/native/test_move.py -k test_moving",
    ),
    (
        "d11-back-from-group",
        "hybrid/native/src/kernels/rnn/layers.h",
        "return step % 2 ? group_end - 1 - (i - group) : i; }",
        "return step % 2 ? group_end - 1 - i : i; }",
        "tests/native/test_rnn.py -k test_handed_over",
    ),
    (
        "d12-i64-as-i32",
        "hybrid/native/src/kernels/move/index.cc",
        "    case DType::i64:\n      return copy<std::int64_t>;",
        "    case DType::i64:\n      return copy<std::int32_t>;",
        "tests/native/test_move.py -k test_take",
    ),
    (
        "d13-lattice-of-a-group",
        "hybrid/native/src/kernels/backward/product.cc",
        "  const Lattice lattice = layout_.lattice(phase.windows, from_channels_);\n  const Index chunks",
        "  const Lattice lattice = layout_.lattice(phase.windows, channels_);\n  const Index chunks",
        "tests/native/test_backward.py -k test_convolution",
    ),
    (
        "d14-width-upside-down",
        "hybrid/native/src/base/lanes.h",
        "constexpr int WIDTH = LANES * 4 / sizeof(T);",
        "constexpr int WIDTH = LANES * sizeof(T) / 4;",
        "tests/native",
    ),
    (
        "d15-groups-rounded-down",
        "hybrid/native/src/kernels/backward/product.cc",
        "    for (Index g = share * shape_.groups / phase.group_chunks; g < (share + 1) * shape_.groups / "
        "phase.group_chunks; ++g)",
        "    const Index each = shape_.groups / phase.group_chunks;\n"
        "    for (Index g = share * each; g < (share + 1) * each; ++g)",
        "tests/native/test_backward.py -k evenly",
    ),
]
