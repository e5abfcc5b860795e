"""Errors by what they say: what each means, what to do, and where the site says so.

``TROUBLES`` is the one table. The command ends an error with the ``address`` of its entry; docs/troubleshooting.md is written
from it: ``python -m tests.site.troubleshooting > docs/troubleshooting.md``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hybrid.core.version import SITE

PAGE = f"{SITE}/troubleshooting.html"
"""The page of all entries."""


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
        "A symbol does not say how large its inputs are: MXNet was told when the network was bound. The sizes "
        "decide what is written, so they are not guessed.",
        (
            "Give it: `--input data:1,3,224,224`, the batch first. `gluonnx inspect MODEL` lists the inputs.",
            "For a size that stays open add `--dynamic data:0=batch`.",
            "From Python: `gluonnx.convert(model, inputs={'data': (1, 3, 224, 224)})`.",
        ),
    ),
    Trouble(
        "calibration",
        "Examples to calibrate on tell nothing of ranges",
        BAD_INPUT,
        r"calibration: \S+ (?:is \S+ throughout|of .* NaN or infinite)",
        "calibration: data is 0 throughout in 4 examples of data.npz, wanted numbers that vary as those do that the network will "
        "get; check how the file was written, and give some dozens of real examples",
        "8-bit integers hold the range that examples reach. Where all numbers are one, that is no range: the file would hold one "
        "number, and agree with the network on it alone. NaN and infinite numbers have no place in a range.",
        (
            'Look at the arrays: `numpy.load("data.npz")["data"]` and its `min()`, `max()`.',
            "Give some dozens of inputs as the network will get them, with the same scale, mean and order of colours.",
            "For a mask that holds minus infinity write a large finite number, such as -1e9.",
        ),
    ),
    Trouble(
        "sizes-to-draw",
        "Inputs are to be drawn, and nothing tells their sizes",
        "bridge.paths.SizesWanted",
        "",
        "give the shape of input data, for instance --input data:1,3,224,224",
        "Models are compared on numbers that are drawn, and neither of them says how large its inputs are.",
        (
            "Give the sizes (`--input data:1,3,224,224`) or arrays (`--inputs FILE.npz`).",
            "For `gluonnx check` they stand in `gluonnx.toml`: `inputs = { data = [1, 3, 224, 224] }`.",
        ),
    ),
    Trouble(
        "unrolled",
        "A network is unrolled for another number of steps",
        BAD_INPUT,
        r"the symbol is unrolled for \d+ steps",
        "data (1, 16, 1): the symbol is unrolled for 8 steps (split0 cuts axis 1 of data into 8 pieces of size 1) and takes no "
        "other number of them; give --input data:1,8,1, or for 16 steps convert the symbol made for that length, with the same "
        "parameters (unroll(16, ...), or sym_gen(16) of a BucketingModule)",
        "`unroll(n, ...)` of a cell writes every step into the graph, so that a symbol is for one length, and that axis cannot "
        "stay open. A `BucketingModule` has a symbol for each bucket, which share their parameters; `do_checkpoint` writes that of "
        "the bucket that came last.",
        (
            "Convert the symbol of the length that is wanted, with the parameters that there are: "
            "[one length of a BucketingModule](tutorials/training-script.md#bucketingmodule-to-onnx-one-length).",
            "For a length that stays open train with a fused cell (`FusedRNNCell`, `gluon.rnn.LSTM`), which is one operator for "
            "all lengths.",
        ),
    ),
    Trouble(
        "scaled-twice",
        "Pictures are scaled by the network already",
        BAD_INPUT,
        r"prepares \S+ by itself",
        "the network prepares data by itself, as (data - 127.5) * 0.0078125, and expects numbers from 0 to 255: with mean and std "
        "that is done twice, and it gets numbers from -0.996 to 0.996; leave that to the network, or insist with --twice "
        "(twice=True)",
        "The first operators of the symbol subtract and divide already, as in InsightFace's networks. Done before them too, all "
        "pictures look nearly alike to the network, and its answers are wrong, in MXNet as in the file: no comparison shows that.",
        (
            "Leave out `--unit`, `--mean`, `--scale` and `--std`: `--uint8` and `--layout NHWC` go without them.",
            "Where the network was trained so after all: `--twice`.",
        ),
    ),
    Trouble(
        "channels",
        "The shape of an input does not fit the weights",
        BAD_INPUT,
        r"channels, and the first convolution|try --input|shapes are given as the file takes them",
        "data (1, 4, 32, 32): 4 channels, and the first convolution (conv0) wants 3; try --input data:1,3,32,32",
        "The parameters were made for another shape. Often the axes are in another order: MXNet's pictures are "
        "(N, C, H, W).",
        (
            "Take the shape that the message proposes.",
            "For a file that takes (N, H, W, C) convert with the network's own shape and add `--layout NHWC`.",
        ),
    ),
    Trouble(
        "missing-parameters",
        "Parameters are missing, or belong to another network",
        BAD_INPUT,
        r"missing parameter|missing; give it with --params|other parameters:|no such parameter file",
        "no .params file was found beside model-symbol.json, and conv0_weight, bn0_gamma and 56 more are missing; "
        "give it with --params FILE",
        "The symbol names weights that no file holds. `NAME-0000.params` beside `NAME-symbol.json` is found; the "
        "newest epoch is taken.",
        (
            "Give the file: `gluonnx convert model-symbol.json --params weights.params`.",
            (
                "When the message lists as many other parameters, symbol and parameters come from two exports: take "
                "those of one."
            ),
            "When a name is an input of yours, say so: `--input NAME:1,16`.",
        ),
    ),
    Trouble(
        "dtype-of-input",
        "An array is of another dtype than the model takes",
        BAD_INPUT,
        r"the model takes (bool|u?int\d+|b?float\d+)\b|: got \w+, wanted \w+; convert it",
        "x.npz: data is float64, the model takes float32; save it as array.astype('float32') (what NumPy makes is "
        "float64 where nothing else is said)",
        "Most networks compute in float32, and what they are given is not cast, neither here nor by onnxruntime. "
        "Numbers that NumPy makes, such as `np.random.rand(1, 3, 224, 224)`, are float64, and pictures uint8: MXNet "
        "made float32 of both where `mx.nd.array` took them.",
        (
            "Save it anew: `np.savez('x.npz', data=array.astype('float32'))`.",
            (
                "For a file that takes bytes of pictures as they are, convert with `--uint8` "
                "([deploy](deploy.md)); `gluonnx inspect MODEL` shows what a file takes."
            ),
            "`--input data:1,3,224,224` without a dtype takes the model's own.",
        ),
    ),
    Trouble(
        "unknown-input",
        "There is no input of that name",
        BAD_INPUT,
        r"unknown input|the model takes ",
        "unknown input dat: the model takes data",
        "A name given with `--input`, `--dynamic` or in a file of arrays is none of the model's inputs.",
        ("Take one of the names in the message; `gluonnx inspect MODEL` shows them with their shapes.",),
    ),
    Trouble(
        "unknown-output",
        "There is no output of that name",
        BAD_INPUT,
        r"no output ",
        "no output 'nope' in the graph; did you mean bn1_output? (inspect --nodes lists all)",
        "`--outputs` cuts the graph at tensors inside. Their names are those of nodes with `_output` behind "
        "(`_output0`, ... where there are several).",
        ("`gluonnx inspect MODEL --nodes` lists all names.",),
    ),
    Trouble(
        "other-direction",
        "The file is already what it is to become",
        BAD_INPUT,
        r"is ONNX already|MXNet symbol already",
        "net-symbol.json: an MXNet symbol already; import takes an ONNX file, convert makes one of this",
        "`convert` makes ONNX of MXNet's files, `import` makes MXNet's files of ONNX; the command that was called goes the "
        "other way.",
        (
            "Take the other command: `gluonnx convert net -o net.onnx`, or `gluonnx import net.onnx -o net`.",
            "To load MXNet's files into a program neither is needed: [migration](migration.md).",
        ),
    ),
    Trouble(
        "names-of-classes",
        "A file of labels holds no names of classes",
        BAD_INPUT,
        r"^labels .*(wanted names of classes|wanted the name of a class|wanted JSON)",
        "labels inference.py: a .py file, wanted names of classes, one a line, in a file that ends in .txt, .json, .csv, .tsv, "
        ".names, .labels, .classes, .list, .lst or in nothing",
        "Every line of the file is the name of a class, the first that of class 0. A program has lines too, and as many as there "
        "are classes by chance: so a file is refused that is one by its name or by its lines.",
        (
            "Give a text file with a name a line, in the order of the training's numbers.",
            "Of a `.json` file a list of names, or a name by the number of its class.",
        ),
    ),
    Trouble(
        "no-such-file",
        "A file is not there, or is something else",
        BAD_INPUT,
        "no such file|not a regular file|a folder with|a repository of|without (pictures|\\.npz)|these are parameters|wanted "
        "the path|holds \\d+ (symbols|ONNX models)|holds no |archive does not hold",
        "nothere: no such file; wanted a -symbol.json or .onnx file, an archive (.tar.gz, .zip), or the prefix "
        "of a symbol",
        "A model is a symbol, its prefix (`net` for `net-symbol.json` and `net-0000.params`), a folder with one "
        "model (also one that `deploy` wrote), an archive (also one of these), or an ONNX file. `convert` takes MXNet's, "
        "`import` takes ONNX.",
        ("Check the path; in a folder of several models name the file you mean.",),
    ),
    Trouble(
        "place-to-write",
        "A file cannot be written there",
        BAD_INPUT,
        "no such folder to write|nothing may be written|there already|a folder; give the name|a device or a "
        "pipe|writing it would destroy|no folder .* to make it in|wanted a folder",
        "nofolder: no such folder to write a.onnx to",
        "Files appear when they are finished and proved, and never in the place of what is read.",
        (
            "Make the folder, or give another place with `-o`.",
            "`deploy --replace` takes the place of what is there already.",
        ),
    ),
    Trouble(
        "value-of-option",
        "An option has a value that it cannot take",
        BAD_INPUT,
        r"^(\S+: )?got |wanted one of|: got |^--\S+: wanted |choose another with --opset",
        "got opset 99, wanted 7 to 28 (the newest that onnx defines) or 'newest'",
        "The message says what was given and what there is.",
        ("Take one of the values that the message lists; `gluonnx COMMAND --help` explains them.",),
    ),
    Trouble(
        "not-installed",
        "Something optional is not installed",
        BAD_INPUT,
        r"pip install|is not installed",
        "openvino is not installed (No module named 'openvino'); pip install 'gluonnx[openvino]'",
        "Parts that few need come as extras.",
        ("Run the command in the message. A target may live in another Python: see [targets](targets.md).",),
    ),
    Trouble(
        "sizes-of-dynamic-axes",
        "Other sizes of the dynamic axes do not fit the network",
        BAD_INPUT,
        r"sizes made up to verify its dynamic axes",
        "the model does not fit the sizes made up to verify its dynamic axes (...); make the axes that vary together dynamic under "
        "one label, or give a second set of inputs (--also FILE.npz, or also=) of sizes that belong together",
        "A file with dynamic axes is compared at two sizes of each, and at the second one a node of the network fails. A network "
        "that only takes so much, such as one with a table of positions, is compared at the greatest size that it takes, or at a "
        "smaller one; here sizes do not go together.",
        (
            "Axes that are always equally long get one label: `--dynamic ids:1=seq --dynamic mask:1=seq`.",
            "Sizes that depend on each other otherwise: arrays of a second set of sizes, `--also FILE.npz`.",
        ),
    ),
    Trouble(
        "open-channels",
        "The axis that is left open is the channels",
        BAD_INPUT,
        r"is the channels, of which the first layer",
        "dynamic data:1=height: axis 1 is the channels, of which the first layer conv0 takes 3; did you mean "
        "data:2=height,3=width?",
        "A convolution takes as many channels as its weights have, so that this axis has one size. Axes are counted from 0, as "
        "the file has them: pictures are (batch, channels, height, width), or (batch, height, width, channels) with "
        "`--layout NHWC`.",
        (
            "`--dynamic data:2=height,3=width`; with `--layout NHWC` `--dynamic data:1=height,2=width`.",
            "The batch is axis 0: `--dynamic data:0=batch`, or `--dynamic batch`.",
        ),
    ),
    Trouble(
        "command-line",
        "The command line cannot be read",
        BAD_INPUT,
        r"^no such (option|command)|^missing (argument|option|parameter)|extra argument|--help lists all$|: one input each time",
        "no such option --dynamics; did you mean --dynamic? gluonnx convert --help lists all",
        "There is no command or option of that name, something that has to be there is missing, or there is more than is "
        "taken.",
        (
            "Take the name that the message proposes; `gluonnx --help` lists the commands, `gluonnx COMMAND --help` "
            "their options.",
            "*Several values of one option*: names take commas (`--outputs a,b`, `--target openvino,mnn`, "
            "`--map a=b,c=d`). Where commas stand inside a value already, and for files, the option is given once for "
            "each: `--input data:1,3,224,224 --input mask:1,16`.",
        ),
    ),
    Trouble(
        "bad-input",
        "What was given cannot be used",
        BAD_INPUT,
        "",
        "--match chooses among nodes: add --nodes",
        "Options that do not go together, or a value that does not fit the model. The message says what was got, what "
        "was wanted and what to do. All problems are in it at once; of many, `--verbose` shows all. Nothing was written.",
        (
            "*An option that another one needs*: `--match conv` chooses among nodes, so it wants `inspect --nodes`; "
            "`deploy --max-batch 16` wants a batch that is open, so it wants `--dynamic batch`; `deploy` wants `--to`.",
            "*Two options that say the same*: `--batch 1 --dynamic batch`; a size in `--input` and another one in "
            "`--batch`. Leave one out.",
            "*Something written otherwise*: `--input data:1,3,224,224` (name, colon, sizes), `--dynamic data:0=batch` "
            "(axis and label), `--range data:0,255`, `--map data=input`. `gluonnx COMMAND --help` ends in two examples.",
            "*An option of the conversion, and a file that is converted already*: `--dynamic`, `--uint8`, `--opset` and "
            "others change how an MXNet symbol is written. Give the symbol, or leave the option out.",
            "*A shell that changed the argument*: put paths with blanks, `*`, `[` or `=` in quotes.",
        ),
    ),
    Trouble(
        "too-inexact",
        "The file in fewer bits is less exact than was asked for",
        "bridge.precision.job.TooInexact",
        "",
        "output: 31.2 dB of signal to noise where 40 are wanted (cosine 0.99921, max abs 0.12 of 3.4)",
        "With `--fp16` or `--quantize` the file is compared with the network in float32, layer by layer. Its "
        "error is larger than the limit that holds.",
        (
            (
                "Look at the layers that lose most, with `--report report.html`, and keep these in float32: "
                "[precision](precision.md)."
            ),
            "For 8 bits give more pictures, of the kind that the network will see.",
        ),
    ),
    # -- what cannot be said --------------------------------------------------------------------------------------------
    Trouble(
        "unknown-operator",
        "An operator is not known",
        UNSUPPORTED,
        r"unknown operator",
        "1 node cannot be written as ONNX:\n  mine (MyOwn): unknown operator 'MyOwn'",
        "The symbol uses an operator that MXNet 1.9.1 does not have: one of a fork, of a later version, or of "
        "your own.",
        (
            "Define it, with its translation, in a plug-in: [plugins](plugins.md), `--plugin mine.py`.",
            "Cut the graph before it: the message may end in a command that does.",
        ),
    ),
    Trouble(
        "size-is-dynamic",
        "A size has to be a number",
        UNSUPPORTED,
        r"dynamic|is open|size .* unknown|unknown size",
        "1 node cannot be written as ONNX:\n  crop (Crop): needs the size of axis 2 of data, which is dynamic",
        "A translation needs a size that was left open with `--dynamic`, and ONNX has no words for it without "
        "the number.",
        ("Give the size with `--input`, and keep only the axes open that have to be: the batch is enough for most.",),
    ),
    Trouble(
        "shape-not-known",
        "A shape does not follow from the inputs",
        UNSUPPORTED,
        r"not known|only known at run time",
        "1 node cannot be read:\n  node (Pad): the rank of x is not known; give the shapes of all inputs",
        "An operator of the other side needs to know how many axes a tensor has, or a value that is only "
        "computed when the model runs.",
        (
            "Give the shapes of all inputs (`--input`).",
            (
                "Where an axis or a shape arrives at run time: [decision "
                "0012](decisions/0012-shapes-that-values-decide.md)."
            ),
        ),
    ),
    Trouble(
        "target-lacks",
        "The target does not have it",
        UNSUPPORTED,
        ", and \\S+ (reads|takes|has|wants)|[\\w.-] (has no(?! value| translation| kernel)|wants input|takes no) |which \\S+ "
        "has not",
        "1 node cannot run on opencv-4.6:\n  det (NonMaxSuppression): opencv-4.6 has no NonMaxSuppression",
        "The file would be right, and the engine that was named with `--target` does not load it or gets it "
        "wrong: the profiles of 28 engines know.",
        (
            "Choose a newer release of the target: `gluonnx targets` lists them.",
            "Suppression of boxes: `--nms none` leaves it to the target ([detection](detection.md)).",
        ),
    ),
    Trouble(
        "newer-opset",
        "The opset has no words for it",
        UNSUPPORTED,
        r"opset",
        "1 node cannot be written as ONNX:\n  grid (BilinearSampler): onnxruntime has no kernel at opset 11 for GridSample",
        "What the node computes can be said in a newer version of ONNX only, or onnxruntime has no kernel for it "
        "at this one.",
        (
            "Leave `--opset` out: the oldest that loses nothing is chosen.",
            "The column *ONNX from opset* of [the operators](operators.md) says from which one on.",
        ),
    ),
    Trouble(
        "cannot-be-written",
        "Nodes do not translate",
        UNSUPPORTED,
        "",
        "1 node cannot be written as ONNX:\n  nms (_contrib_box_nms): overlap threshold -1: a negative one suppresses "
        "all but the best; use 0 or more",
        "ONNX has no operator that computes the same, with these attributes. Every such node is listed, with the "
        "reason; nothing was written, for a file that is nearly right would be worse.",
        (
            "The message may end in a command that converts up to there.",
            (
                "[The operators](operators.md) say what is refused of each. A plug-in may say it in another way: "
                "[plugins](plugins.md)."
            ),
        ),
    ),
    Trouble(
        "unsupported",
        "A translation refuses",
        "converters.error.Unsupported",
        "",
        "p=1 leaves nothing but NaN; use p < 1",
        "Raised by translations of operators, those of plug-ins too, and collected: a conversion tells all of "
        "them as one `UnsupportedModel`.",
        ("In a plug-in raise it for what the translation cannot say.",),
    ),
    Trouble(
        "conversion-error",
        "There is no ONNX model",
        "converters.error.ConversionError",
        "",
        "got input 'dat', wanted some of data",
        "The input of a conversion is at fault, or ONNX cannot say it.",
        ("Do what the message says; `gluonnx inspect MODEL` shows the graph as it was read.",),
    ),
    Trouble(
        "cannot-upgrade",
        "An old ONNX file cannot be read as a newer one",
        "bridge.upgrading.CannotUpgrade",
        "",
        "Loop loop0 holds subgraphs",
        "Models of opsets 1 to 6 are rewritten for onnxruntime, which is the witness of an import. This one cannot be.",
        ("Import with `--no-verify` and look at the numbers yourself, or export the model anew with a newer opset.",),
    ),
    # -- files ----------------------------------------------------------------------------------------------------------
    Trouble(
        "damaged-state",
        "A state of training is damaged",
        FORMAT,
        r"no state of training",
        "state/training.npz: no state of training, or a damaged one (File is not a zip file); remove "
        "state/training.npz to begin anew, or put a copy of it there",
        "What `--resume` or `mx.resuming.Training` keeps was cut short or changed after it was written. It is written whole or not "
        "at all, so that a disk, a copy or another program did that.",
        (
            "Put a copy of it back, where there is one.",
            "Remove the file: training begins anew.",
        ),
    ),
    Trouble(
        "damaged-file",
        "A file is damaged or cut short",
        FORMAT,
        r"damaged|cut short|cut off|not JSON|fetch",
        "half-0000.params: array 6 of 58, offset 2344: data float32[16, 16, 3, 3] wants 9216 bytes, got 2656; "
        "the file is cut short or damaged, fetch it again",
        "What is in the file ends too early or contradicts itself: a broken download, a full disk, or a pointer "
        "of Git LFS in the place of the file.",
        ("Fetch it again, and compare its size with the origin's.",),
    ),
    Trouble(
        "format",
        "A file is not what it was given for",
        FORMAT,
        "",
        "net-symbol.json: got a list, wanted the JSON of a symbol, such as model-symbol.json",
        "The content is not that of a symbol, of parameters, or of whatever was expected there.",
        ("Check that files were not swapped: first the symbol, second the parameters.",),
    ),
    Trouble(
        "missing-file",
        "A file that another one names is not there",
        "hybrid.core.error.MissingFile",
        "",
        "cannot read 'net-0000.params': there is no such file",
        "Weights of large ONNX models lie in files beside them; model zoos' files come from the network, unless "
        "it is not asked.",
        (
            "Put the file where the message says.",
            "Pretrained weights: [decision 0027](decisions/0027-downloads.md).",
        ),
    ),
    Trouble(
        "unreadable-file",
        "A file cannot be opened",
        "hybrid.core.error.UnreadableFile",
        "",
        "cannot read 'net-0000.params': Permission denied",
        "It is there and the system does not let it be read, or an address does not answer.",
        ("Look at its permissions, or fetch it by hand and put it there.",),
    ),
    Trouble(
        "os-error",
        "The system refuses",
        "builtins.OSError",
        "",
        "[Errno 28] No space left on device",
        "The message is the operating system's.",
        (
            (
                "Make room, or give another place. A file that was there is whole: new ones are written beside and "
                "renamed."
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
        "A warning: a symbol remembers the parameters that it was written with, and these are others.",
        ("Nothing, when you trained on. Otherwise take the two files of one export.",),
    ),
    # -- results --------------------------------------------------------------------------------------------------------
    Trouble(
        "says-little",
        "The outputs agree, and that says little",
        "bridge.job.NotEquivalent",
        r"^says little",
        "says little: output is constant",
        "An output that is constant, saturated, empty, NaN, or hardly moves between inputs would agree with nearly anything.",
        (
            "Verify with real inputs: `--inputs FILE.npz` or `--image`.",
            "What never moves may be a head that is dead in the network itself; `--outputs` compares the scores before it.",
            "In `gluonnx check` compare the scores before the last layer: `outputs = [NAME]` in `gluonnx.toml`.",
            "Where it says that the models differ at a node and no input tells them apart, make them agree (convert "
            "again), or give inputs that reach what differs.",
            "Without `--strict` it is a note of `convert`, `import` and `deploy`.",
        ),
    ),
    Trouble(
        "not-equivalent",
        "Two models give different numbers",
        "bridge.job.NotEquivalent",
        "",
        "not equivalent: output: 12 of 1000 elements differ; the first node that differs is conv3 (Convolution)",
        "The file was written beside its place, run, and gave other numbers; it was not kept. The first node "
        "that computes something else from the same inputs is named. [Verification](verification.md) says how it "
        "is found and what counts as equal.",
        (
            (
                "Read `first`, `where` and `what` of the message: the node, the channel, and the weight or attribute that "
                "is not the same. *the node itself computes something else* is a fault of a file or of a translation; *what "
                "differs has grown before it* is rounding, and *a runtime rounds more than float32 has to* is nothing of the "
                "models: onnxruntime's Resize is off by as much. `--report report.html` shows both sides layer by layer."
            ),
            (
                "Look whether the files belong together: another epoch, a file trained on or quantised since, mean and "
                "scale that one of them has inside, channels in another order. `gluonnx diff A B` compares weights and "
                "attributes without running."
            ),
            (
                "Feed it what it will see, `--image FOLDER` or `--inputs FILE.npz`: draws are wide, and may reach what "
                "your data does not. A difference on these alone is still one."
            ),
            (
                "Ask float64 who is right: `gluonnx matrix A B --runners gluonnx:float64,gluonnx,onnxruntime --input ...`. "
                "By hand: `gluonnx.run(MODEL, arrays, outputs='NODE_output')` of both sides at a node before and at the one "
                "that is named, and `numpy.abs(a - b).max()`. `convert --no-verify` writes the file that was refused, to look "
                "at and not to deploy."
            ),
            (
                "Widen the tolerance only for rounding: each node right by itself, and an error that your use of the "
                "outputs does not notice (the column `needs atol` says what would do, `top-1` and `cosine` what changes). "
                "The usual rule is 1e-5 of the largest number of the element's channel plus 1e-4 of the number itself. "
                "`--atol 1e-3` allows 1e-3 as it stands, for every channel alike: 1e-3 is much for probabilities and "
                "nothing for logits of 1e4. With `--scaled` it counts times the channel's largest number again; "
                "`--rtol` is a share of the number itself."
            ),
            (
                "Mind that with `--atol` or `--rtol` outputs alone decide: nodes are no longer judged by themselves, and a "
                "wrong weight that moves the outputs less passes with a note."
            ),
            (
                "`gluonnx reduce A B -o repro` makes of it a small file that still differs. If the node is right in your "
                "model, please report that one."
            ),
        ),
    ),
    # -- engines --------------------------------------------------------------------------------------------------------
    Trouble(
        "engine-failed",
        "An engine failed",
        "bridge.engines.EngineError",
        "",
        "onnxruntime failed: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Loop node",
        "onnxruntime, or the engine that a runner or a target names, did not run a model that follows ONNX's "
        "rules. Exit status 3.",
        ("Try another release of it; `--no-verify` writes the file unproved.",),
    ),
    Trouble(
        "out-of-time",
        "An engine took too long",
        "bridge.engines.OutOfTime",
        "",
        "onnxruntime has not run the model to its end within 600 s; it may hold a loop without an end",
        "The process of the engine was ended.",
        (
            "Where the model holds no loop without an end allow more: `--time-limit`, `gluonnx.set_time_limit(seconds)`.",
        ),
    ),
    Trouble(
        "run-failed",
        "onnxruntime refuses a run",
        "bridge.runtime.RunFailed",
        "",
        "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Conv node",
        "The message is onnxruntime's. Commands tell it as an engine that failed.",
        ("See [An engine failed](#engine-failed).",),
    ),
    Trouble(
        "process-ended",
        "The process of onnxruntime has ended",
        "bridge.runtime.ProcessEnded",
        "",
        "SIGSEGV",
        "onnxruntime runs in a process of its own ([decision "
        "0019](decisions/0019-onnxruntime-in-a-process-of-its-own.md)), and that crashed or was killed, perhaps "
        "for its memory.",
        ("Give smaller inputs, or try another release of onnxruntime.",),
    ),
    Trouble(
        "target-failed",
        "A file does not run, or differs, on its target",
        "bridge.targets.deployed.TargetFailed",
        "",
        "opencv-4.6: differs at pool1 (MaxPool)",
        "The file was run on the engine that `--target` names, and that gave other numbers or none.",
        ("[Targets](targets.md) lists what is known of each engine; a newer release may do.",),
    ),
    Trouble(
        "target-refuses",
        "A target does not take the file",
        "bridge.targets.process.Refused",
        "",
        "opencv (opencv-python-headless 5.0.0) says: Can't create layer of type: DequantizeLinear",
        "The engine itself refused to load the file or to take an input. Its words follow.",
        ("Say which engine it is for, so that the file is written for it: `--target`.",),
    ),
    Trouble(
        "target-crashed",
        "A target's process has ended",
        "bridge.targets.process.Crashed",
        "",
        "tract (tract 0.22.1) crashed with SIGABRT",
        "The engine crashed in its own process.",
        ("Try another release; please report the file to its makers.",),
    ),
    Trouble(
        "target-late",
        "A target takes too long",
        "bridge.targets.process.Late",
        "",
        "mnn (MNN 3.3.0) took more than 300 s and was ended",
        "The engine's process was ended.",
        ("Give smaller inputs.",),
    ),
    Trouble(
        "out-of-memory",
        "It would take more memory than there is",
        "builtins.MemoryError",
        "",
        "out of memory (no details); give smaller input shapes",
        "Nothing was written.",
        ("Give smaller inputs, a batch of 1 first.",),
    ),
    Trouble(
        "memory-budget",
        "It would take more memory than may be taken",
        "hybrid.core.error.OutOfMemory",
        "",
        "the tensor 'pad0' takes 1.2 TiB, and the memory budget is 14.9 GiB; give smaller inputs",
        "A size in a file or in data asks for more than the budget, which is what the machine has left. It may "
        "be damaged, or a network that cannot run at that size.",
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
        "A fault of gluonnx, not of yours. Exit status 70. The file has the versions, the command and the "
        "traceback; it holds no numbers of the model.",
        ("Report it with that file. `gluonnx reduce` often makes a model of a few nodes that shows the same.",),
    ),
    # -- MXNet's Python API ---------------------------------------------------------------------------------------------
    Trouble(
        "other-batches",
        "The data gives other batches than before the break",
        "hybrid.core.error.MXNetError",
        r"gives other batches there than it gave",
        "state/training.npz: the state is after 6 batches in the midst of epoch 2, and the data gives other batches there than it "
        "gave: it has changed, or an order, a place or random numbers are its own, which a state does not have",
        "Training that goes on makes the batches that were gone through once more, and these are others: files have changed, or "
        "the order or the examples follow from something that the program made anew, such as a list that it shuffles, a sampler "
        "with a generator of its own, or random numbers that threads draw in any order.",
        (
            'Give `Training` what holds the order in `keep`: `keep={"files": files, "sampler": sampler}`; '
            "[the tutorial](tutorials/training-script.md#going-on-after-it-was-killed) says what may be in it.",
            "Have datasets draw from `np.random`, `random` or `mx.random` (with `thread_pool=True` from `mx.random` alone), whose "
            "numbers are kept.",
            "A subclass of `mx.io.DataIter` goes through its data from the beginning once more, and may follow from its methods "
            "and those generators alone. Where more decides its order, give it `state_dict()` and `load_state_dict(state)`.",
            "`Training(..., exact=False)` goes on all the same, to other numbers than those of a run in one piece.",
        ),
    ),
    Trouble(
        "training-unkept",
        "A training keeps less than the program needs",
        "hybrid.core.error.MXNetError",
        r"^Training: (a Trainer makes|line \d+:|keep|epoch \d+ went by|batches|"
        r"\w+ (cannot say where it stands|was made in an epoch before))",
        "Training: a Trainer makes a step that it was not given, and whose states would begin anew; wanted all networks and "
        "trainers of the loop: Training(net=[one, other], trainer=[trainer_of_one, trainer_of_other])",
        "`mx.resuming.Training` would go on to other weights than those of a run in one piece: something that the loop uses begins "
        "anew after a break. It says so before it trains, and not after days of it.",
        (
            "Do what the message says: all trainers as `trainer`, `run.enumerate(data)` for `enumerate(run.batches(data))`, "
            "`run.batches(data, other)` for `zip`.",
            "Both loops are told: `for epoch in run.epochs(10)` in the place of `range(10)`, and in it `for batch in "
            "run.batches(data)` in the place of `data`.",
            "Iterators of the program's own that have a `reset()` are subclasses of `mx.io.DataIter`, made ahead of the loop over "
            "epochs or anew in each, or have `state_dict()` and `load_state_dict(state)`: [the tutorial]"
            "(tutorials/training-script.md#going-on-after-it-was-killed).",
            "What is in `keep` has to be made of numbers, texts, arrays, generators of random numbers and containers of them.",
        ),
    ),
    Trouble(
        "state-place",
        "A state cannot be kept where it was to be",
        "hybrid.core.error.MXNetError",
        r"^Training: .*(nothing can be written there|is a file, wanted a folder)",
        "Training: /mnt/gone/state: nothing can be written there (No such file or directory); wanted a folder to keep the state in "
        "that is there or can be made, on a disk with room",
        "`--resume FOLDER` or `mx.resuming.Training(FOLDER)` tries to write there before it trains, for a state that could not be "
        "written hours later would be none. A folder that is not there yet is made. Of several processes only rank 0 writes.",
        (
            "Name a folder that this user may write to, or mount its disk.",
            "Make room where the disk is full.",
        ),
    ),
    Trouble(
        "state-of-another-program",
        "Training does not go on from a state",
        "hybrid.core.error.MXNetError",
        r": the state |to begin anew",
        "state/training.npz: the state is of the optimizer Adam, and this program has SGD, which cannot go on from its "
        "numbers. Start it with Adam, or remove state/training.npz to begin anew",
        "`--resume` or `mx.resuming.Training` found a state, and the program is not the one that wrote it: another network, kind "
        "of optimizer, number of epochs or ranks, or other batches in the midst of an epoch. To go on all the same would train "
        "something else without a word.",
        (
            "Start the program as it was; [the tutorial](tutorials/training-script.md#going-on-after-it-was-killed) says what may "
            "change.",
            "Remove the file that the message names, or name another folder, to begin anew.",
        ),
    ),
    Trouble(
        "mxnet-error",
        "MXNetError",
        "hybrid.core.error.MXNetError",
        "",
        "simple_bind error",
        "The base of all errors that the Python API raises on purpose; `except mx.base.MXNetError` catches them "
        "all, as it does in MXNet.",
        ("Do what the message says. Where MXNet has words of its own for a case they are kept.",),
    ),
    Trouble(
        "positions-outside",
        "An index is outside of its table",
        OPERATOR,
        r"\[take\] got positions .* wanted -",
        "Error in operator /emb/Gather: [take] got positions 1 to 500 in input ids, wanted -500 to 499: emb.weight has 500 rows",
        "The network was imported from ONNX, where an index past the end of a table, such as a word id that the vocabulary does "
        "not have, is an error. (MXNet's own take and Embedding take another row, here too.)",
        (
            "Give indexes that the table has; negative ones count from its end.",
            "Unknown words need the id that the network was trained with for them.",
        ),
    ),
    Trouble(
        "operator-has-no-gradient",
        "An operator has no gradient",
        OPERATOR,
        r"non-differentiable|gradient rule",
        "_contrib_calibrate_entropy is non-differentiable: it has no gradient rule",
        "`backward` came to an operator that has none, in MXNet neither.",
        (
            "Put `mx.nd.BlockGrad` (or `detach()`) before it when no gradient should flow.",
            "The column *gradient* of [the operators](operators.md) tells which have one.",
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
            "Define it: [plugins](plugins.md).",
        ),
    ),
    Trouble(
        "operator",
        "An operator cannot take what it was given",
        OPERATOR,
        "",
        "Convolution: got data of shape (1, 4, 32, 32), wanted 3 channels",
        "Attributes or inputs do not fit: the message says which operator, what it got and what it wanted. While "
        "a graph is inferred it begins with the node's name.",
        ("`help(mx.nd.NAME)` and [the operators](operators.md) say what it takes.",),
    ),
    Trouble(
        "operand",
        "An argument is no array, or no symbol",
        "hybrid.core.error.OperandError",
        "",
        "tile: type <class 'list'> not supported",
        "Functions of `mx.nd` take NDArrays, those of `mx.sym` Symbols, those of `mx.np` arrays of mx.np. Under "
        "`set_np` Gluon gives the latter.",
        (
            (
                "Make one: `mx.nd.array(x)`, `mx.np.array(x)`; between the two `x.as_nd_ndarray()` and "
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
        "Inside `hybrid_forward` of a hybridized block there are symbols, which have no values yet.",
        ("Say it in operators of `F`, or do not hybridize that block.",),
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
            (
                "A block with another prefix: `save_parameters` and `load_parameters` go by structure, "
                "`collect_params().save` by name."
            ),
            "`allow_missing=True` and `ignore_extra=True` take what there is.",
        ),
    ),
    Trouble(
        "deferred-initialization",
        "A parameter has no shape yet",
        "hybrid.gluon.base_parameter.DeferredInitializationError",
        "",
        "Parameter 'dense0_weight' has not been initialized yet because initialization was deferred.",
        "Layers without `in_units` or `in_channels` learn their sizes from the first data.",
        ("Call the block once with data, or give the sizes.",),
    ),
    Trouble(
        "device",
        "A device has failed",
        "hybrid.device.array.DeviceError",
        "",
        "hybrid.device.array.DeviceError",
        "The device failed, maybe some time ago: what has run since then may not have. `mx.gpu(i)` is CuPy's device i.",
        ("`mx.context.num_gpus()` tells how many there are; `mx.cpu()` always is. See [gpu](gpu.md).",),
    ),
    Trouble(
        "device-fallback",
        "Check failed: e == cudaSuccess: CUDA: out of memory (gpu(0))",
        "hybrid.execution.on_device.DeviceFallback",
        "",
        "_linalg_syevd runs on the CPU, its arrays are copied from gpu(0) and back: CuPy has no such function",
        "A warning, once for each operator: the result is right and slower.",
        ("Nothing, or leave the operator out of the part that has to be fast.",),
    ),
    Trouble(
        "leaves-device",
        "An array would leave its device unasked",
        "hybrid.device.array.LeavesDevice",
        "",
        "an array on gpu(0) is not converted unasked",
        "The engine's own guard against silent copies. Programs see results, or a fallback's warning.",
        ("Seen in a program of yours it is a fault: please report it. `x.asnumpy()` copies on purpose.",),
    ),
    Trouble(
        "internal-error-of-the-engine",
        "The engine contradicts itself",
        "hybrid.core.error.InternalError",
        "",
        "inference does not come to an end at fc1; please report this symbol",
        "A fault of gluonnx, found by one of its own checks.",
        ("Please report it with the symbol.",),
    ),
    Trouble(
        "native-argument",
        "The compiled part was called wrongly",
        "hybrid.core.error.NativeArgumentError",
        "",
        "got an array of 12 bytes, wanted 16",
        "A fault of gluonnx: its Python part and its compiled part disagree. Two versions may be installed over "
        "one another.",
        ("Install it anew: `pip install --force-reinstall gluonnx`. Does it stay, please report it.",),
    ),
    Trouble(
        "compiled-file",
        "A compiled file does not go alone",
        "hybrid.execution.saved.NotAlone",
        "",
        "a step of the program refuses these inputs",
        "`gluonnx compile` writes programs that have a kernel for each step; this network has a step that only "
        "NumPy does.",
        ("Run the model itself: compiled files save the start, not the run.",),
    ),
)


def trouble_of(error: BaseException) -> Trouble:
    """The entry of an error: of the nearest of its classes that has entries the first that its message fits."""
    text = getattr(error, "full", str(error))
    for cls in type(error).__mro__:
        name = f"{cls.__module__}.{cls.__qualname__}"
        for entry in TROUBLES:
            if entry.error == name and re.search(entry.says, text):
                return entry
    raise TypeError(f"got {type(error).__name__}, wanted an Exception")


def address(error: BaseException) -> str:
    """The place on the site that says more of an error."""
    return f"{PAGE}#{trouble_of(error).anchor}"
