"""Errors by message: what each means, and what to do.

``TROUBLES`` is the one table. A command that fails names its entry (``more``), which ``gluonnx explain`` prints, with no network
and without the pages; docs/troubleshooting.md is written from it:
``python -m tests.site.troubleshooting > docs/troubleshooting.md``.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Trouble(NamedTuple):
    """Errors of a class, those that say something in particular or all others."""

    anchor: str
    title: str
    error: str
    """The class, with its module."""
    says: str
    """An expression that is found in the message; of entries of one class the first whose expression is found holds, an empty one
    always is."""
    example: str
    """A message, as it is printed."""
    means: str
    do: tuple[str, ...]
    """Steps to take, the likeliest first."""


BAD_INPUT = "bridge.paths.BadInput"
UNSUPPORTED = "converters.error.UnsupportedModel"
FORMAT, OPERATOR = "hybrid.core.error.FormatError", "hybrid.core.error.OpError"

TROUBLES = (
    # -- what was given -------------------------------------------------------------------------------------------------
    Trouble(
        "shape-of-input",
        "The shape of an input is not known",
        BAD_INPUT,
        r"shape of input|size of the pictures|has unknown dims; give it|input \S+: the shape",
        "cannot tell the shape of input data; give it, for instance --input data:1,3,224,224",
        "A symbol does not store the sizes of its inputs; MXNet was told them when the network was bound. They "
        "determine what is written, so gluonnx does not guess them.",
        (
            "Give the shape, the batch first: `--input data:1,3,224,224`. `gluonnx inspect MODEL` lists the inputs.",
            "For a dynamic size add `--dynamic data:0=batch`.",
            "From Python: `gluonnx.convert(model, inputs={'data': (1, 3, 224, 224)})`.",
        ),
    ),
    Trouble(
        "calibration",
        "Calibration or examples say nothing",
        BAD_INPUT,
        r"calibration: \S+ (?:is \S+ throughout|of .* NaN or infinite)|examples: \S+ of .* NaN",
        "calibration: data is 0 throughout in 4 examples of data.npz, wanted numbers that vary as those do that the network will "
        "get; check how the file was written, and give some dozens of real examples",
        "For 8-bit integers the range of each tensor is measured on the calibration examples. Constant examples have no range, and "
        "NaN or infinite values make it meaningless. Examples for float16 may not hold NaN either: it is NaN in both files.",
        (
            'Look at the arrays: `numpy.load("data.npz")["data"]` and its `min()`, `max()`.',
            "Give some dozens of real inputs, preprocessed as in use: the same scale, mean and order of channels.",
            "In a mask, replace minus infinity by a large finite number, such as -1e9.",
        ),
    ),
    Trouble(
        "sizes-to-draw",
        "Random inputs are needed, and their shapes are not known",
        "bridge.paths.SizesWanted",
        "",
        "give the shape of input data, for instance --input data:1,3,224,224",
        "Models are compared on random inputs, and neither of these models stores the shapes of its inputs.",
        (
            "Give shapes (`--input data:1,3,224,224`) or arrays (`--inputs FILE.npz`).",
            "For `gluonnx check` put them in `gluonnx.toml`: `inputs = { data = [1, 3, 224, 224] }`.",
        ),
    ),
    Trouble(
        "one-place",
        "A picture of one place says nothing of a network",
        BAD_INPUT,
        r"convolutions see one place of it",
        "data (1, 3, 1, 1): all 9 convolutions see one place of it, and borders around (conv0 has a window of 3 x 3): equal "
        "numbers would say nothing of their other weights; give the size of the training, such as --input data:1,3,224,224",
        "A network that pools globally takes a picture of any size, down to 1 x 1. There every window lies on one place and "
        "borders of zeros, so that most weights are multiplied by zeros alone: what comes out would be the same with any others.",
        (
            "Give the size of the training, such as `--input data:1,3,224,224`.",
            "For pictures of any size leave axes open beside such a size: `--dynamic data:2=height,3=width`.",
        ),
    ),
    Trouble(
        "unrolled",
        "A network is unrolled for another sequence length",
        BAD_INPUT,
        r"the symbol is unrolled for \d+ steps",
        "data (1, 16, 1): the symbol is unrolled for 8 steps (split0 cuts axis 1 of data into 8 pieces of size 1) and takes no "
        "other number of them; give --input data:1,8,1, or for 16 steps convert the symbol made for that length, with the same "
        "parameters (unroll(16, ...), or sym_gen(16) of a BucketingModule)",
        "`unroll(n, ...)` of a cell writes each time step into the graph, so that a symbol works for one length "
        "only, and that axis cannot be dynamic. A `BucketingModule` has a symbol for each bucket, with shared "
        "parameters; `do_checkpoint` writes only the symbol of the last bucket.",
        (
            "Convert the symbol of the length that you want, with the same parameters: [one length of a "
            "BucketingModule](tutorials/training-script.md#bucketingmodule-to-onnx-one-length).",
            "For a dynamic length, train with a fused cell (`FusedRNNCell`, `gluon.rnn.LSTM`), which is a single "
            "operator.",
        ),
    ),
    Trouble(
        "scaled-twice",
        "The network scales its input already",
        BAD_INPUT,
        r"prepares \S+ by itself",
        "the network prepares data by itself, as (data - 127.5) * 0.0078125, and expects numbers from 0 to 255: with mean and std "
        "that is done twice, and it gets numbers from -0.996 to 0.996; leave that to the network, or insist with --twice "
        "(twice=True)",
        "The first operators of the symbol already subtract a mean and scale, as in InsightFace's networks. Doing "
        "so twice makes all images look nearly the same to the network. No comparison would show that, because "
        "MXNet would compute the same wrong answers.",
        (
            "Leave out `--unit`, `--mean`, `--scale` and `--std`; `--uint8` and `--layout NHWC` work without them.",
            "If the network was really trained this way, add `--twice`.",
        ),
    ),
    Trouble(
        "channels",
        "The shape of an input does not fit the weights",
        BAD_INPUT,
        r"channels, and the first convolution|try --input|shapes are given as the file takes them|not the size that the network "
        r"was trained for",
        "data (1, 4, 32, 32): 4 channels, and the first convolution (conv0) wants 3; try --input data:1,3,32,32",
        "The parameters were made for another shape. Often the axes are in another order: MXNet's images are (N, C,"
        " H, W).",
        (
            "Use the shape that the message proposes.",
            "For a file that takes (N, H, W, C), add `--layout NHWC`; `--input` then has the file's order, "
            "`data:1,32,32,3`.",
            "*parameter fc1_weight: got shape ..., wanted ...*: a dense layer fixes the size. Give that of the training; pictures "
            "of another one are resized by the file (`--resize`).",
        ),
    ),
    Trouble(
        "missing-parameters",
        "Parameters are missing, or belong to another network",
        BAD_INPUT,
        r"missing parameter|missing; give it with --params|other parameters:|no such parameter file",
        "no .params file was found beside model-symbol.json, and conv0_weight, bn0_gamma and 56 more are missing; "
        "give it with --params FILE",
        "The symbol uses weights that no file contains. gluonnx looks for `NAME-0000.params` beside "
        "`NAME-symbol.json`, and takes the newest epoch.",
        (
            "Give the file: `gluonnx convert model-symbol.json --params weights.params`.",
            "If the message also lists unused parameters, the symbol and the parameters come from different "
            "exports: use the two files of one export.",
            "If a name is an input and not a weight, give its shape: `--input NAME:1,16`.",
        ),
    ),
    Trouble(
        "dtype-of-input",
        "An array has another dtype than the model takes",
        BAD_INPUT,
        r"the model takes (bool|u?int\d+|b?float\d+)\b|: got \w+, wanted \w+; convert it",
        "x.npz: data is float64, the model takes float32; save it as array.astype('float32') (what NumPy makes is "
        "float64 where nothing else is said)",
        "Most networks take float32, and neither gluonnx nor onnxruntime casts inputs. NumPy's arrays, such as "
        "`np.random.rand(1, 3, 224, 224)`, are float64 and images are uint8; MXNet's `mx.nd.array` made float32 of "
        "both.",
        (
            "Save it as float32: `np.savez('x.npz', data=array.astype('float32'))`.",
            "For a file that takes the bytes of images, convert with `--uint8` ([deploy](deploy.md)). `gluonnx "
            "inspect MODEL` shows the dtypes that a file takes.",
            "`--input data:1,3,224,224` without a dtype uses the model's own.",
            "Floats in a file or a recording that are all whole numbers, as MXNet has word ids, are taken for an integer "
            "input. Otherwise the message names the first that is not whole.",
        ),
    ),
    Trouble(
        "unknown-input",
        "There is no input of that name",
        BAD_INPUT,
        r"unknown input|the model takes ",
        "unknown input dat: the model takes data",
        "A name in `--input`, `--dynamic` or a file of arrays is not an input of the model.",
        ("Use one of the names in the message; `gluonnx inspect MODEL` lists them with their shapes.",),
    ),
    Trouble(
        "unknown-output",
        "There is no output of that name",
        BAD_INPUT,
        r"no output ",
        "no output 'nope' in the graph; did you mean bn1_output? (inspect --nodes lists all)",
        "`--outputs` cuts the graph at tensors inside of it. A tensor is named after its node, with `_output` "
        "appended (`_output0`, `_output1`, ... if the node has several).",
        ("`gluonnx inspect MODEL --nodes` lists all names.",),
    ),
    Trouble(
        "other-direction",
        "The file already has the target format",
        BAD_INPUT,
        r"is ONNX already|MXNet symbol already",
        "net-symbol.json: an MXNet symbol already; import takes an ONNX file, convert makes one of this",
        "`convert` writes ONNX from MXNet's files, `import` writes MXNet's files from ONNX. This is the wrong one "
        "of the two.",
        (
            "Use the other command: `gluonnx convert net -o net.onnx`, or `gluonnx import net.onnx -o net`.",
            "To load MXNet's files in a program you need neither: [migration](migration.md).",
        ),
    ),
    Trouble(
        "names-of-classes",
        "A file of labels contains no class names, or too few",
        BAD_INPUT,
        r"^labels .*(wanted names of classes|wanted the name of a class|wanted JSON)|^labels: got",
        "labels inference.py: a .py file, wanted names of classes, one a line, in a file that ends in .txt, .json, .csv, .tsv, "
        ".names, .labels, .classes, .list, .lst or in nothing",
        "Each line of the file is the name of a class, beginning with class 0. A file that looks like a program is "
        "refused, since its number of lines could match the number of classes by chance.",
        (
            "Give a text file with a name per line, in the order of the class numbers used in training.",
            "In a `.json` file: a list of names, or names by class number.",
            "*got 2 names for 10 classes*: give as many as the network has classes, with a line for the background if it is one.",
        ),
    ),
    Trouble(
        "no-such-file",
        "A file is missing, or is something else",
        BAD_INPUT,
        "no such file|not a regular file|a folder with|more than \\d+ files|a repository of|without (pictures|\\.npz)|"
        "these are parameters|wanted the path|holds \\d+ (symbols|ONNX models)|holds no |archive does not hold",
        "nothere: no such file; wanted a -symbol.json or .onnx file, an archive (.tar.gz, .zip), or the prefix "
        "of a symbol",
        "A model is a symbol, its prefix (`net` for `net-symbol.json` and `net-0000.params`), a folder with one "
        "model (also one that `deploy` wrote), an archive (also of such a folder), or an ONNX file. `convert` takes"
        " MXNet's files, `import` takes ONNX.",
        ("Check the path. In a folder with several models, name the file.",),
    ),
    Trouble(
        "place-to-write",
        "A file cannot be written there",
        BAD_INPUT,
        "no such folder to write|nothing may be written|there already|a folder; give the name|a device or a "
        "pipe|writing it would destroy|no folder .* to make it in|wanted a folder",
        "nofolder: no such folder to write a.onnx to",
        "Files are written only when they are complete and verified, and never over the files that are read.",
        (
            "Create the folder, or give another path with `-o`.",
            "`deploy --replace` replaces what is there.",
        ),
    ),
    Trouble(
        "value-of-option",
        "An option has an invalid value",
        BAD_INPUT,
        r"^(\S+: )?got |wanted one of|: got |^--\S+: wanted |choose another with --opset",
        "got opset 99, wanted 7 to 28 (the newest that onnx defines) or 'newest'",
        "The message says what was given and what is allowed.",
        ("Use one of the values in the message; `gluonnx COMMAND --help` explains them.",),
    ),
    Trouble(
        "not-installed",
        "An optional package is not installed",
        BAD_INPUT,
        r"pip install|is not installed",
        "openvino is not installed (No module named 'openvino'); pip install openvino",
        "Packages that few users need are not installed with gluonnx.",
        (("Run the command in the message. A target may be installed in another Python: see [targets](targets.md)."),),
    ),
    Trouble(
        "fixed-by-weights",
        "No other size of a dynamic axis fits the weights",
        BAD_INPUT,
        r"has weights for one size alone",
        "fc (FullyConnected) has weights for one size alone: fc_weight (3, 128). No other size fits, so leave data:2=height and "
        "data:3=width out of --dynamic; a network for any size pools over all places before such a layer",
        "A dense layer that reads all places of a picture, or all steps of a sequence, has a weight for each of them: the network "
        "works at one size only.",
        (
            "Leave the axes that the message names out of `--dynamic`; the batch can stay: `--dynamic batch`.",
            "For pictures of any size let the file resize them: `--resize 224x224` ([deploy](deploy.md)).",
        ),
    ),
    Trouble(
        "no-module-mxnet",
        "No module named 'mxnet'",
        "builtins.ModuleNotFoundError",
        r"No module named '?mxnet",
        "ModuleNotFoundError: No module named 'mxnet'",
        "A program says `import mxnet`, and MXNet is not installed. gluonnx implements MXNet's Python API under another name.",
        (
            "Run the program as `python -m hybrid train.py`: there `import mxnet` imports gluonnx ([the "
            "tutorial](tutorials/training-script.md)).",
            "Or let the program say so itself, before anything imports mxnet: `import hybrid; hybrid.install_as_mxnet()`.",
            "In a new program write `from gluonnx import mx` instead of `import mxnet as mx`.",
        ),
    ),
    Trouble(
        "no-module",
        "A package that the program imports is not installed",
        "builtins.ModuleNotFoundError",
        "",
        "ModuleNotFoundError: No module named 'gluonnx'",
        "This Python has no package of that name.",
        (
            "Of gluonnx itself: activate the environment that it was installed into, `. .venv/bin/activate` ([set "
            "up](install.md)).",
            "Of another package: install it into this environment, `python -m pip install NAME`.",
        ),
    ),
    Trouble(
        "sizes-of-dynamic-axes",
        "Other sizes of the dynamic axes do not fit the network",
        BAD_INPUT,
        r"sizes made up to verify its dynamic axes",
        "the model does not fit the sizes made up to verify its dynamic axes (...); make the axes that vary together dynamic under "
        "one label, or give a second set of inputs (--also FILE.npz, or also=) of sizes that belong together",
        "A file with dynamic axes is verified at two sizes of each axis, and at the second size a node of the "
        "network fails. If the network has an upper limit, such as a table of positions, gluonnx stays below it; "
        "here the sizes of several axes do not go together.",
        (
            "Give axes that always have the same length the same name: `--dynamic ids:1=seq --dynamic mask:1=seq`.",
            "If sizes depend on each other in another way, give arrays of a second set of sizes: `--also FILE.npz`.",
        ),
    ),
    Trouble(
        "open-channels",
        "The dynamic axis is the channel axis",
        BAD_INPUT,
        r"is the channels, of which the first layer",
        "dynamic data:1=height: axis 1 is the channels, of which the first layer conv0 takes 3; did you mean "
        "data:2=height,3=width?",
        "A convolution has a fixed number of input channels, so this axis cannot be dynamic. Axes are counted from "
        "0 in the file's layout: images are (batch, channels, height, width), or (batch, height, width, channels) "
        "with `--layout NHWC`.",
        (
            "Height and width: `--dynamic data:2=height,3=width`, or with `--layout NHWC` `--dynamic "
            "data:1=height,2=width`.",
            "The batch is axis 0: `--dynamic data:0=batch`, or `--dynamic batch`.",
        ),
    ),
    Trouble(
        "command-line",
        "The command line is invalid",
        BAD_INPUT,
        r"^no such (option|command)|^missing (argument|option|parameter)|extra argument|--help lists all$|: one input each time",
        "no such option --dynamics; did you mean --dynamic? gluonnx convert --help lists all",
        "A command or option does not exist, a required argument is missing, or there is one too many.",
        (
            "Use the name that the message proposes. `gluonnx --help` lists the commands, `gluonnx COMMAND --help` "
            "the options.",
            "*Several values of one option*: separate names by commas (`--outputs a,b`, `--target openvino,mnn`, "
            "`--map a=b,c=d`). For files, and for values that contain commas, repeat the option: `--input "
            "data:1,3,224,224 --input mask:1,16`.",
        ),
    ),
    Trouble(
        "bad-input",
        "The input cannot be used",
        BAD_INPUT,
        "",
        "--match chooses among nodes: add --nodes",
        "Options that do not go together, or a value that does not fit the model. The message says what was given, "
        "what is needed and what to do. It lists all problems at once (a long list is shortened; `--verbose` shows "
        "all of it). Nothing was written.",
        (
            "*An option that needs another one*: `--match conv` filters nodes, so it needs `inspect --nodes`; "
            "`deploy --max-batch 16` needs `--dynamic batch`; `deploy` needs `--to`.",
            "*Two options that contradict each other*: `--batch 1 --dynamic batch`, or one size in `--input` and "
            "another in `--batch`. Leave one out.",
            "*Syntax*: `--input data:1,3,224,224` (name and sizes), `--dynamic data:0=batch` (axis and label), "
            "`--range data:0,255`, `--map data=input`. `gluonnx COMMAND --help` ends with two examples.",
            "*An option of the conversion with a file that is already ONNX*: `--dynamic`, `--uint8`, `--opset` and "
            "others change how an MXNet symbol is written. Give the symbol, or leave the option out.",
            "*The shell changed an argument*: quote paths with spaces, `*`, `[` or `=`.",
        ),
    ),
    Trouble(
        "too-inexact",
        "The float16 or 8-bit file is less exact than the limit",
        "bridge.precision.job.TooInexact",
        "",
        "output: 31.2 dB of signal to noise where 40 are wanted (cosine 0.99921, max abs 0.12 of 3.4)",
        "With `--fp16` or `--quantize` the file is compared with the float32 network, layer by layer. Its error is "
        "larger than the limit.",
        (
            "Look for the layers with the largest errors in `--report report.html`, and keep them in float32: "
            "[precision](precision.md).",
            "For 8 bits give more images, of the kind that the network will see.",
        ),
    ),
    # -- what cannot be said --------------------------------------------------------------------------------------------
    Trouble(
        "unknown-operator",
        "An operator is not known",
        UNSUPPORTED,
        r"unknown operator",
        "1 node cannot be written as ONNX:\n  mine (MyOwn): unknown operator 'MyOwn'",
        "The symbol uses an operator that MXNet 1.9.1 does not have: one of a fork, of a later version, or a custom"
        " one.",
        (
            "Define it and its ONNX form in a plug-in: `--plugin mine.py`, [plugins](plugins.md).",
            "Cut the graph before it; the message may end with a command that does.",
        ),
    ),
    Trouble(
        "no-reading",
        "An ONNX operator cannot be read",
        UNSUPPORTED,
        r"no reading for",
        "1 node cannot be read:\n  f (Foo): no reading for Foo of domain my.dom at opset 1; define one in a plug-in (--plugin "
        "FILE.py) with converters.registry.imports('Foo', domain='my.dom')",
        "The ONNX file uses an operator that gluonnx does not read: one of another domain than ONNX's own, of a newer ONNX, or"
        " one of the framework's own, which its exporter did not know and left as it was (tf2onnx: Log1p). onnxruntime does not"
        " open such a file either.",
        (
            "Define how it is read in a plug-in: `gluonnx import --plugin mine.py`, [plugins](plugins.md).",
            "Or export the model without it; exporters have options for operators of their own.",
        ),
    ),
    Trouble(
        "size-is-dynamic",
        "A dynamic size has to be a number",
        UNSUPPORTED,
        r"dynamic|is open|size .* unknown|unknown size",
        "1 node cannot be written as ONNX:\n  crop (Crop): needs the size of axis 2 of data, which is dynamic",
        "To convert this node, a size is needed that `--dynamic` makes variable.",
        (
            (
                "Give the size with `--input`, and make only the axes dynamic that need it; for most models that is"
                " the batch."
            ),
        ),
    ),
    Trouble(
        "shape-not-known",
        "A shape does not follow from the inputs",
        UNSUPPORTED,
        r"not known|only known at run time",
        "1 node cannot be read:\n  node (Pad): the rank of x is not known; give the shapes of all inputs",
        "An operator needs the number of axes of a tensor, or a value that is only computed when the model runs.",
        (
            "Give the shapes of all inputs (`--input`).",
            "If shapes are computed while the model runs: [decision "
            "0012](decisions/0012-shapes-that-values-decide.md).",
        ),
    ),
    Trouble(
        "target-lacks",
        "The target does not support an operator",
        UNSUPPORTED,
        ", and \\S+ (reads|takes|has|wants)|[\\w.-] (has no(?! value| translation| kernel)|wants input|takes no) |which \\S+ "
        "has not",
        "1 node cannot run on opencv-4.6:\n  det (NonMaxSuppression): opencv-4.6 has no NonMaxSuppression",
        "The file would be correct, but the engine named with `--target` cannot load it or computes it wrongly.",
        (
            "Choose a newer release of the target; `gluonnx targets` lists them.",
            "For NMS: `--nms none` leaves it to the target ([detection](detection.md)).",
        ),
    ),
    Trouble(
        "newer-opset",
        "The opset has no such operator",
        UNSUPPORTED,
        r"opset",
        "1 node cannot be written as ONNX:\n  grid (BilinearSampler): onnxruntime has no kernel at opset 11 for GridSample",
        "What the node computes needs a newer ONNX opset, or onnxruntime has no kernel for it at this one.",
        (
            "Leave out `--opset`; gluonnx then chooses the oldest opset that can express the network.",
            "The column *ONNX from opset* of [the operators](operators.md) has the oldest one for each operator.",
        ),
    ),
    Trouble(
        "cannot-be-written",
        "Nodes do not convert",
        UNSUPPORTED,
        "",
        "1 node cannot be written as ONNX:\n  nms (_contrib_box_nms): overlap threshold -1: a negative one suppresses "
        "all but the best; use 0 or more",
        "ONNX has no operator that computes the same with these attributes. All such nodes are listed, with "
        "reasons. Nothing was written.",
        (
            "The message may end with a command that converts the graph up to there.",
            "[The operators](operators.md) list what is not supported. A plug-in can define another translation: "
            "[plugins](plugins.md).",
        ),
    ),
    Trouble(
        "unsupported",
        "A translation refuses a node",
        "converters.error.Unsupported",
        "",
        "p=1 leaves nothing but NaN; use p < 1",
        "Raised by translations of operators, also those of plug-ins. A conversion collects all of them into one "
        "`UnsupportedModel`.",
        ("In a plug-in, raise it for cases that the translation does not support.",),
    ),
    Trouble(
        "conversion-error",
        "The model cannot be converted",
        "converters.error.ConversionError",
        "",
        "got input 'dat', wanted some of data",
        "The input of the conversion is wrong, or ONNX cannot express it.",
        ("Do what the message says. `gluonnx inspect MODEL` shows the graph.",),
    ),
    Trouble(
        "cannot-upgrade",
        "An old ONNX file cannot be upgraded",
        "bridge.upgrading.CannotUpgrade",
        "",
        "Loop loop0 holds subgraphs",
        "To verify an import, onnxruntime runs the original. Models of opsets 1 to 6 have to be rewritten for that,"
        " which is not possible for this one.",
        (("Import with `--no-verify` and check the numbers yourself, or export the model again with a newer opset."),),
    ),
    # -- files ----------------------------------------------------------------------------------------------------------
    Trouble(
        "damaged-state",
        "A training state is damaged",
        FORMAT,
        r"no state of training",
        "state/training.npz: no state of training, or a damaged one (File is not a zip file); remove "
        "state/training.npz to begin anew, or put a copy of it there",
        "The file written by `--resume` or `mx.resuming.Training` was truncated or changed afterwards. gluonnx "
        "writes it completely or not at all, so a disk, a copy or another program did that.",
        (
            "Restore the file from a copy, if you have one.",
            "Or remove it: training begins anew.",
        ),
    ),
    Trouble(
        "damaged-file",
        "A file is damaged or truncated",
        FORMAT,
        r"damaged|cut short|cut off|not JSON|fetch",
        "half-0000.params: array 6 of 58, offset 2344: data float32[16, 16, 3, 3] wants 9216 bytes, got 2656; "
        "the file is cut short or damaged, fetch it again",
        "The file ends too early or contradicts itself: a broken download, a full disk, or a Git LFS pointer "
        "instead of the file.",
        ("Fetch it again, and compare its size with the original's.",),
    ),
    Trouble(
        "format",
        "A file has another format than expected",
        FORMAT,
        "",
        "net-symbol.json: got a list, wanted the JSON of a symbol, such as model-symbol.json",
        "The content is not that of a symbol, of parameters, or of whatever was expected.",
        ("Check the order of the files: first the symbol, then the parameters.",),
    ),
    Trouble(
        "missing-file",
        "A file that another one refers to is missing",
        "hybrid.core.error.MissingFile",
        "",
        "cannot read 'net-0000.params': there is no such file",
        "Large ONNX models store weights in separate files. Pretrained weights of model zoos (`pretrained=True`) are "
        "not downloaded unless you say so.",
        (
            "Put the file where the message says.",
            "Pretrained weights: put them into `~/.mxnet/models`, or set `MXNET_GLUON_REPO` to the address of a copy "
            "of the repository ([more](decisions/0027-downloads.md)).",
        ),
    ),
    Trouble(
        "unreadable-file",
        "A file cannot be opened",
        "hybrid.core.error.UnreadableFile",
        "",
        "cannot read 'net-0000.params': Permission denied",
        "It exists, but cannot be read, or an address does not answer.",
        ("Check its permissions, or download it by hand and put it there.",),
    ),
    Trouble(
        "os-error",
        "An error of the operating system",
        "builtins.OSError",
        "",
        "[Errno 28] No space left on device",
        "The message is the operating system's.",
        (
            (
                "Free some space, or give another path. An older file at that place is intact: new files are "
                "written beside it and then renamed."
            ),
        ),
    ),
    Trouble(
        "mixed-files",
        "Two files were not written together",
        "hybrid.core.error.MixedFiles",
        "",
        "net-0000.params and net-symbol.json were not written together: the first has the digest 5f3a, the second "
        "names 81c0.",
        "A warning: a symbol stores a hash of the parameters that it was written with, and these are others.",
        ("If you trained further since then, ignore it. Otherwise use the two files of one export.",),
    ),
    # -- results --------------------------------------------------------------------------------------------------------
    Trouble(
        "says-little",
        "The outputs agree, but that proves little",
        "bridge.job.NotEquivalent",
        r"^says little",
        "says little: output is constant",
        "An output that is constant, saturated, empty or NaN, or that hardly changes between inputs, would agree "
        "with almost any model.",
        (
            "If an output is NaN everywhere, look at the weights: a note names those that hold NaN, as after a training "
            "that diverged. Such an output says little whatever agrees before it.",
            "Verify with real inputs: `--inputs FILE.npz` or `--image`.",
            "Compare the scores before a constant head: `--outputs`; for `gluonnx check` `outputs = [NAME]` in "
            "`gluonnx.toml`.",
            "If it says that the models differ at a node although no input shows it: convert again, or give inputs "
            "that do.",
            "Without `--strict` this is only a note in `convert`, `import` and `deploy`.",
        ),
    ),
    Trouble(
        "not-equivalent",
        "Two models give different numbers",
        "bridge.job.NotEquivalent",
        "",
        "not equivalent: output: 12 of 1000 elements differ; the first node that differs is conv3 (Convolution)",
        "The new file was run and gave other numbers, so it was not kept. The message names the first node that "
        "gives another result for the same inputs. [Verification](verification.md) explains how it is found and "
        "what counts as equal.",
        (
            "Read `first`, `where` and `what` in the message: the node, the channel, and the weight or attribute "
            "that differs. *the node itself computes something else* points to the file or its translation; *what "
            "differs has grown before it* is rounding; *a runtime rounds more than float32 has to* is an inexact "
            "kernel, such as onnxruntime's Resize. `--report report.html` shows both models layer by layer.",
            "Check that the files belong together: the same epoch, no training or quantization since, the same mean"
            " and scale, the same order of channels. `gluonnx diff A B` compares weights and attributes without "
            "running.",
            "Try real inputs, `--image FOLDER` or `--inputs FILE.npz`: random inputs cover a wider range than your "
            "data. A difference on random inputs alone is still a difference.",
            "Compare both with float64: `gluonnx matrix A B --runners gluonnx:float64,gluonnx,onnxruntime --input "
            "...`. For single tensors: `gluonnx.run(MODEL, arrays, outputs='NODE_output')` on both sides. `convert "
            "--no-verify` writes the file anyway, to look at and not to deploy.",
            "Widen the tolerance only for rounding, and only if your use of the outputs allows it: the column "
            "`needs atol` says how far. By default the limit is 1e-5 of the largest number in the element's channel"
            " plus 1e-4 of the number itself. `--atol 1e-3` is absolute, for every channel; with `--scaled` it is "
            "relative to the channel's largest number. `--rtol` is relative to the number itself.",
            "With `--atol` or `--rtol` only the outputs decide: a wrong weight that changes them by less passes "
            "with a note.",
            "`gluonnx reduce A B -o repro` finds the smallest model that still differs. If the node is right in "
            "your model, please report that one.",
        ),
    ),
    # -- engines --------------------------------------------------------------------------------------------------------
    Trouble(
        "engine-failed",
        "An engine failed",
        "bridge.engines.EngineError",
        "",
        "onnxruntime failed: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Loop node",
        "onnxruntime, or the engine of a runner or target, could not run a valid ONNX model. Exit status 3.",
        ("Try another release of the engine. `--no-verify` writes the file without running it.",),
    ),
    Trouble(
        "out-of-time",
        "An engine took too long",
        "bridge.engines.OutOfTime",
        "",
        "onnxruntime has not run the model to its end within 600 s; it may hold a loop without an end",
        "The process of the engine was ended. Exit status 3, and nothing was written. Where the outputs were compared in time, and "
        "only the tensors inside were not, the file is written, and a note says so.",
        (("If the model has no endless loop, allow more time: `--time-limit`, `gluonnx.set_time_limit(seconds)`."),),
    ),
    Trouble(
        "run-failed",
        "onnxruntime refuses to run a model",
        "bridge.runtime.RunFailed",
        "",
        "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Conv node",
        "The message is onnxruntime's. Commands report it as an engine that failed.",
        ("See [An engine failed](#engine-failed).",),
    ),
    Trouble(
        "process-ended",
        "The process of onnxruntime has ended",
        "bridge.runtime.ProcessEnded",
        "",
        "SIGSEGV",
        "onnxruntime runs in a separate process ([decision "
        "0019](decisions/0019-onnxruntime-in-a-process-of-its-own.md)), which crashed or was killed, perhaps "
        "because of its memory use.",
        ("Give smaller inputs, or try another release of onnxruntime.",),
    ),
    Trouble(
        "target-failed",
        "A file does not run, or differs, on its target",
        "bridge.targets.deployed.TargetFailed",
        "",
        "opencv-4.6: differs at pool1 (MaxPool)",
        "The engine named with `--target` ran the file, and gave other numbers or none.",
        ("[Targets](targets.md) lists what is known of each engine. A newer release may work.",),
    ),
    Trouble(
        "target-refuses",
        "A target does not take the file",
        "bridge.targets.process.Refused",
        "",
        "opencv (opencv-python-headless 5.0.0) says: Can't create layer of type: DequantizeLinear",
        "The engine itself refused to load the file or to take an input. Its message follows.",
        ("Name the engine with `--target`, so that the file is written for it.",),
    ),
    Trouble(
        "target-crashed",
        "A target crashed",
        "bridge.targets.process.Crashed",
        "",
        "tract (tract 0.22.1) crashed with SIGABRT",
        "The engine crashed in its own process.",
        ("Try another release, and please report the file to its makers.",),
    ),
    Trouble(
        "target-late",
        "A target took too long",
        "bridge.targets.process.Late",
        "",
        "mnn (MNN 3.3.0) took more than 300 s and was ended",
        "The process of the engine was ended.",
        ("Give smaller inputs.",),
    ),
    Trouble(
        "out-of-memory",
        "Not enough memory",
        "builtins.MemoryError",
        "",
        "out of memory (no details); give smaller input shapes",
        "Nothing was written.",
        ("Give smaller inputs, and first a batch of 1.",),
    ),
    Trouble(
        "memory-budget",
        "The memory budget is exceeded",
        "hybrid.core.error.OutOfMemory",
        "",
        "the tensor 'pad0' takes 1.2 TiB, and the memory budget is 14.9 GiB; give smaller inputs",
        "A tensor would need more than the budget, which is the free memory of the machine. A size in a file may be"
        " damaged, or the network cannot run at that size.",
        (
            "Check the sizes of the inputs.",
            "`mx.set_memory_budget(bytes)` sets another budget.",
        ),
    ),
    Trouble(
        "internal-error",
        "An internal error",
        "builtins.Exception",
        "",
        "internal error: KeyError: 'data' (infer.py, line 120); this is a fault of gluonnx: please report it "
        "with /tmp/gluonnx-x.txt and, if you can, the model",
        "A bug in gluonnx. Exit status 70. The file named in the message has the versions, the command and the "
        "traceback, and no numbers of the model.",
        (
            (
                "Please report it with that file. `gluonnx reduce` can often make a model of a few nodes that shows"
                " the same."
            ),
        ),
    ),
    # -- MXNet's Python API ---------------------------------------------------------------------------------------------
    Trouble(
        "other-batches",
        "The data gives other batches than before the interruption",
        "hybrid.core.error.MXNetError",
        r"gives other batches there than it gave",
        "state/training.npz: the state is after 6 batches in the midst of epoch 2, and the data gives other batches there than it "
        "gave: it has changed, or an order, a place or random numbers are its own, which a state does not have",
        "When training resumes, the batches that were already used are made again and compared, and these differ. "
        "Either the data has changed, or its order or content depends on something that the program created anew: a"
        " list that it shuffles, a sampler with its own generator, or random numbers used in several threads.",
        (
            'Pass what determines the order as `keep`: `keep={"files": files, "sampler": sampler}` ([the '
            "tutorial](tutorials/resume-training.md) says what may be in it).",
            "Let datasets take random numbers from `np.random`, `random` or `mx.random` (with `thread_pool=True` "
            "only from `mx.random`), whose states are saved.",
            "A subclass of `mx.io.DataIter` is run again from the beginning, and may depend only on its own methods"
            " and those generators. Otherwise give it `state_dict()` and `load_state_dict(state)`.",
            "`Training(..., exact=False)` resumes anyway, with other numbers than an uninterrupted run.",
        ),
    ),
    Trouble(
        "training-unkept",
        "A training state would be incomplete",
        "hybrid.core.error.MXNetError",
        r"^Training: (a Trainer makes|line \d+:|keep|epoch \d+ went by|batches|"
        r"\w+ (cannot say where it stands|was made in an epoch before))",
        "Training: a Trainer makes a step that it was not given, and whose states would begin anew; wanted all networks and "
        "trainers of the loop: Training(net=[one, other], trainer=[trainer_of_one, trainer_of_other])",
        "`mx.resuming.Training` cannot resume to the same weights, because something that the loop uses is not part"
        " of the state. It says so before training starts.",
        (
            "Give all networks and trainers: `run = mx.resuming.Training(net=net, trainer=trainer)`, or lists of them.",
            "Use both loops: `for epoch in run.epochs(10)` for `range(10)`, and inside it `for batch in "
            "run.batches(data)` for `data`.",
            "Write `run.enumerate(data)` for `enumerate(run.batches(data))`, and `run.batches(data, other)` for `zip`.",
            "Iterators of your own with a `reset()` have to be subclasses of `mx.io.DataIter`, created before the "
            "loop over epochs or anew in each epoch, or have `state_dict()` and `load_state_dict(state)`: [the "
            "tutorial](tutorials/resume-training.md).",
            "`keep` takes numbers, texts, arrays, random generators and containers of them.",
        ),
    ),
    Trouble(
        "state-place",
        "The training state cannot be written there",
        "hybrid.core.error.MXNetError",
        r"^Training: .*(nothing can be written there|is a file, wanted a folder)",
        "Training: /mnt/gone/state: nothing can be written there (No such file or directory); wanted a folder to keep the state in "
        "that is there or can be made, on a disk with room",
        "`--resume FOLDER` or `mx.resuming.Training(FOLDER)` tries to write before training starts. A missing "
        "folder is created. Of several processes only rank 0 writes.",
        (
            "Name a folder that you may write to, or mount its disk.",
            "If the disk is full, free some space.",
        ),
    ),
    Trouble(
        "state-of-another-program",
        "The training state is of another program",
        "hybrid.core.error.MXNetError",
        r": the state |to begin anew",
        "state/training.npz: the state is of the optimizer Adam, and this program has SGD, which cannot go on from its "
        "numbers. Start it with Adam, or remove state/training.npz to begin anew",
        "The state found by `--resume` or `mx.resuming.Training` was written with another network, kind of "
        "optimizer, number of epochs or ranks, or with other batches within an epoch.",
        (
            "Run the program as before; [the tutorial](tutorials/resume-training.md) says what may change.",
            "To begin anew, remove the file that the message names, or name another folder.",
        ),
    ),
    Trouble(
        "mxnet-error",
        "MXNetError",
        "hybrid.core.error.MXNetError",
        "",
        "simple_bind error",
        "The base class of the errors that the Python API raises on purpose; `except mx.base.MXNetError` catches "
        "all of them, as in MXNet.",
        ("Do what the message says. Where programs may depend on it, the text is MXNet's.",),
    ),
    Trouble(
        "positions-outside",
        "An index is outside of its table",
        OPERATOR,
        r"\[take\] got positions .* wanted -",
        "Error in operator /emb/Gather: [take] got positions 1 to 500 in input ids, wanted -500 to 499: emb.weight has 500 rows",
        "In a network imported from ONNX, an index past the end of a table is an error, such as a word id that is "
        "not in the vocabulary. (MXNet's own take and Embedding use another row then, here too.)",
        (
            "Give indexes that are in the table; negative ones count from its end.",
            "For unknown words use the id that the network was trained with for them.",
        ),
    ),
    Trouble(
        "operator-has-no-gradient",
        "An operator has no gradient",
        OPERATOR,
        r"non-differentiable|gradient rule",
        "_contrib_calibrate_entropy is non-differentiable: it has no gradient rule",
        "`backward` reached an operator that has no gradient, in MXNet neither.",
        (
            "Put `mx.nd.BlockGrad` (or `detach()`) before it if no gradient should flow.",
            "The column *gradient* of [the operators](operators.md) lists which have one.",
        ),
    ),
    Trouble(
        "operator-not-known",
        "There is no operator of that name",
        OPERATOR,
        r"unknown operator",
        "unknown operator 'MyOwn'",
        "A symbol or a call names an operator that MXNet 1.9.1 does not have.",
        (
            "Check the spelling.",
            "Or define it: [plugins](plugins.md).",
        ),
    ),
    Trouble(
        "operator",
        "An operator got invalid arguments",
        OPERATOR,
        "",
        "Convolution: got data of shape (1, 4, 32, 32), wanted 3 channels",
        "Attributes or inputs do not fit: the message names the operator, what it got and what it needs. For a "
        "graph it begins with the name of the node.",
        ("`help(mx.nd.NAME)` and [the operators](operators.md) describe the arguments.",),
    ),
    Trouble(
        "operand",
        "An argument is not an array, or not a symbol",
        "hybrid.core.error.OperandError",
        "",
        "tile: type <class 'list'> not supported",
        "Functions of `mx.nd` take NDArrays, those of `mx.sym` Symbols, those of `mx.np` arrays of mx.np. After "
        "`set_np` Gluon uses the latter.",
        (
            (
                "Make one: `mx.nd.array(x)` or `mx.np.array(x)`; convert with `x.as_nd_ndarray()` and "
                "`x.as_np_ndarray()`."
            ),
        ),
    ),
    Trouble(
        "not-for-symbols",
        "Only arrays can do that",
        "hybrid.core.error.NotImplementedForSymbol",
        "",
        "Function asnumpy is not implemented for Symbol and only available in NDArray.",
        "In `hybrid_forward` of a hybridized block the arguments are symbols, which have no values yet.",
        ("Write it with operators of `F`, or do not hybridize that block.",),
    ),
    Trouble(
        "not-for-sparse",
        "Only dense arrays can do that",
        "hybrid.core.error.NotSupportedForSparseNDArray",
        "",
        "Function reshape (namely operator Reshape) with arguments (4,) is not supported for SparseNDArray and only "
        "available in NDArray.",
        "Sparse arrays have fewer methods, here as in MXNet.",
        ("`x.tostype('default')` makes it dense.",),
    ),
    Trouble(
        "parameters-of-a-block",
        "Parameters do not fit a block",
        "hybrid.gluon.base_parameter.ParameterError",
        "",
        "Failed loading Parameter 'dense0_weight' from saved params: shape incompatible expected (10, 5) vs saved (4, 3)",
        "Names or shapes in a file are not those of the block.",
        (
            "If the block has another prefix: `save_parameters` and `load_parameters` match by structure, "
            "`collect_params().save` by name.",
            "`allow_missing=True` and `ignore_extra=True` load what matches.",
        ),
    ),
    Trouble(
        "deferred-initialization",
        "A parameter has no shape yet",
        "hybrid.gluon.base_parameter.DeferredInitializationError",
        "",
        "Parameter 'dense0_weight' has not been initialized yet because initialization was deferred.",
        "Layers without `in_units` or `in_channels` infer their sizes from the first data.",
        ("Call the block once with data, or give the sizes.",),
    ),
    Trouble(
        "device",
        "A device failed",
        "hybrid.device.array.DeviceError",
        "",
        "Check failed: e == cudaSuccess: CUDA: out of memory (gpu(0))",
        "The device failed, possibly earlier: operations since then may not have run. `mx.gpu(i)` is CuPy's device i.",
        ("`mx.context.num_gpus()` is the number of GPUs; `mx.cpu()` always works. See [gpu](gpu.md).",),
    ),
    Trouble(
        "device-fallback",
        "An operator runs on the CPU instead of the GPU",
        "hybrid.execution.on_device.DeviceFallback",
        "",
        "_linalg_syevd runs on the CPU, its arrays are copied from gpu(0) and back: CuPy has no such function",
        "A warning, once for each operator: the result is right, but slower.",
        ("Nothing, or keep the operator out of performance-critical code.",),
    ),
    Trouble(
        "leaves-device",
        "An array would be copied from its device implicitly",
        "hybrid.device.array.LeavesDevice",
        "",
        "an array on gpu(0) is not converted unasked",
        "An internal check against silent copies. Programs normally get a result, or the warning of a fallback.",
        ("If your program gets it, that is a bug: please report it. `x.asnumpy()` copies explicitly.",),
    ),
    Trouble(
        "internal-error-of-the-engine",
        "An internal check of the engine failed",
        "hybrid.core.error.InternalError",
        "",
        "inference does not come to an end at fc1; please report this symbol",
        "A bug in gluonnx.",
        ("Please report it with the symbol.",),
    ),
    Trouble(
        "native-argument",
        "The compiled part got wrong arguments",
        "hybrid.core.error.NativeArgumentError",
        "",
        "got an array of 12 bytes, wanted 16",
        "A bug in gluonnx, or two versions are installed over one another.",
        (("Install it again: `pip install --force-reinstall .` in the clone. If the error stays, please report it."),),
    ),
    Trouble(
        "compiled-file",
        "A network cannot be compiled into a file",
        "hybrid.execution.saved.NotAlone",
        "",
        "a step of the program refuses these inputs",
        "`gluonnx compile` needs a compiled kernel for each step; this network has a step that only NumPy can do.",
        ("Run the model itself: a compiled file only starts faster.",),
    ),
)


def trouble_of(error: BaseException) -> Trouble:
    """The entry of an error: of the nearest of its classes that has entries the first that its message fits."""
    # a command that is proposed has options that are not what is wrong
    text = getattr(error, "full", str(error)).removesuffix(getattr(error, "hint", ""))
    for cls in type(error).__mro__:
        name = f"{cls.__module__}.{cls.__qualname__}"
        for entry in TROUBLES:
            if entry.error == name and re.search(entry.says, text):
                return entry
    raise TypeError(f"got {type(error).__name__}, wanted an Exception")


def more(error: BaseException) -> str:
    """The command that says more of an error."""
    return f"gluonnx explain {trouble_of(error).anchor}"
