"""Words: strings in arrays of dtype object, and what makes numbers of them. And pictures: what makes numbers of their bytes."""

import re

import numpy as np

from ...core.attrs import Size, Sizes
from ...core.error import FormatError
from ...core.op import op
from ...core.shapes import UNKNOWN
from .base import BOOL, INT64, OBJECT, Pointwise, Standard
from .types import INDICES, WORDS


def each(function, *arrays):
    """A function of strings applied to every element, as an array of dtype object."""
    parts = np.broadcast_arrays(*arrays)
    made = np.empty(parts[0].shape, object)
    for index in np.ndindex(made.shape):
        made[index] = function(*(str(p[index]) for p in parts))
    return made


@op("_onnx_StringConcat")
class StringConcat(Pointwise):
    """Strings joined in pairs, broadcast. Source: ONNX StringConcat (opset 20 to newest)."""

    exception = "works on words and bytes"

    inputs = ("X", "Y")
    types = {"X Y": WORDS}

    def meaning(self, x, y):
        return each(str.__add__, x, y)

    @classmethod
    def examples(cls, make):
        yield make(make.array([["a"], ["é"]], object), make.array(["", "b c", "."], object))


@op("_onnx_StringNormalizer")
class StringNormalizer(Standard):
    """The strings of [C] or [1, C] without stop words, then in lower or upper case; one empty string where nothing is left.

    Unless is_case_sensitive, stop words are found whatever the case. locale is not used: Unicode's own rules hold.
    Source: ONNX StringNormalizer (opset 10 to newest)."""

    case_change_action: str = "NONE"
    is_case_sensitive: bool = False
    locale: str = ""
    stopwords: np.ndarray = np.empty(0, object)

    exception = "works on words and bytes"

    inputs = ("X",)
    types = {"X": WORDS}
    data_dependent_shape = True

    def check(self):
        if self.case_change_action not in ("NONE", "LOWER", "UPPER"):
            return f"got case_change_action={self.case_change_action!r}, wanted NONE, LOWER or UPPER"
        return super().check()

    def shape(self, x):
        if len(x) not in (1, 2) or (len(x) == 2 and x[0] is not UNKNOWN and x[0] != 1):
            raise self.error(f"got shape {x}, wanted (C,) or (1, C)")
        return (*x[:-1], UNKNOWN) if self.stopwords.size or x[-1] is UNKNOWN or x[-1] == 0 else x

    def meaning(self, x):
        same = str if self.is_case_sensitive else str.lower
        stops = {same(s) for s in self.stopwords.tolist()}
        change = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}[self.case_change_action]
        kept = [change(s) for s in map(str, x.reshape(-1)) if same(s) not in stops] or [""]
        return np.array(kept, object).reshape(*x.shape[:-1], len(kept))

    @classmethod
    def examples(cls, make):
        words = make.array(["a", "THE", "the", "b"], object)
        yield make(words, stopwords=make.array(["the"], object), locale="C")
        yield make(words.reshape(1, 4), stopwords=make.array(["the"], object), is_case_sensitive=True)


@op("_onnx_StringSplit")
class StringSplit(Standard):
    """The substrings of each string along a new last axis, filled up with empty ones, and how many there are (int64).

    Where the delimiter is empty runs of white space separate, and none is left around the substrings. An empty string is one
    empty substring of a delimiter, as in Python and the reference evaluator (onnxruntime counts none), and none otherwise.
    Source: ONNX StringSplit (opset 20 to newest)."""

    delimiter: str = ""
    maxsplit: int | None = None

    exception = "works on words and bytes"

    inputs = ("X",)
    types = {"X": WORDS}
    data_dependent_shape = True

    def output_names(self):
        return ("Y", "Z")

    def shape(self, x):
        return [(*x, UNKNOWN), x]

    def dtype(self, x):
        return [OBJECT, INT64]

    def meaning(self, x):
        most = -1 if self.maxsplit is None else self.maxsplit
        if self.delimiter:
            parts = [str(s).split(self.delimiter, most) for s in x.reshape(-1)]
        else:
            parts = [str(s).strip().split(None, most) for s in x.reshape(-1)]
        counts = np.array([len(p) for p in parts], np.int64)
        made = np.full((x.size, max(counts, default=0)), "", object)
        for row, part in zip(made, parts):
            row[: len(part)] = part
        return made.reshape(*x.shape, made.shape[1]), counts.reshape(x.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.array([["a b", " c"], ["", "d  e f "]], object))
        yield make(make.array(["a,b", "c", ",d,"], object), delimiter=",", maxsplit=1)


@op("_onnx_RegexFullMatch")
class RegexFullMatch(Pointwise):
    """Test that a regular expression in the syntax of RE2 matches the whole of each string.

    Source: ONNX RegexFullMatch (opset 20 to newest); https://github.com/google/re2/wiki/Syntax."""

    pattern: str

    exception = "works on words and bytes"

    inputs = ("X",)
    types = {"X": WORDS}

    def check(self):
        try:
            compile_pattern(self.pattern)
        except (ValueError, re.error) as error:
            return f"pattern {self.pattern!r} is not read: {error}"
        return super().check()

    def dtype(self, x):
        return BOOL

    def meaning(self, x):
        pattern = compile_pattern(self.pattern)
        return each(lambda s: pattern.fullmatch(s) is not None, x).astype(np.bool_)

    @classmethod
    def examples(cls, make):
        yield make(make.array([["ab12", "ab"], ["é1", "a\n1"]], object), pattern=r"\w+.?\d+$")


# what is meant by these classes in RE2: ASCII alone, and no vertical tab among the white space
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_NAMED = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ", "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\t-\\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_WORD = f"[{_CLASSES['w']}]"
_EDGE = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_INSIDE = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_ALONE = {"A": "\\A", "z": "\\Z", "b": _EDGE, "B": _INSIDE, "C": None, "Q": None, "p": None, "P": None}
_REPEAT = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")
_GROUP = re.compile(r"\((?:\?(?:P?<(?![=!])\w+>|[is]*:|[is]+\)))?")
_ESCAPED = re.compile(
    r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|([0-7]{3}|0[0-7]{0,2})|([afnrtv])|([^\w\s]|_))", re.ASCII
)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A regular expression of RE2 as one of Python that means the same. Raises ValueError for what is not read."""
    out, at = [], 0
    repeated = True  # whether nothing is there to repeat
    while at < len(pattern):
        rest, char = pattern[at:], pattern[at]
        repeat = _REPEAT.match(rest)
        if repeat:
            lazy = rest[repeat.end() : repeat.end() + 1] == "?"
            if repeated:
                raise ValueError(f"nothing to repeat at {rest!r}")
            piece, size, repeated = repeat[0], repeat.end() + lazy, True  # lazy or not, the whole is matched or is not
        elif char == "(":
            group = _GROUP.match(rest)
            if group is None or (group[0] == "(" and rest.startswith("(?")):
                raise ValueError(f"{rest[:4]!r} has no counterpart here")
            piece, size, repeated = group[0], group.end(), True
            if piece.endswith(")"):  # flags hold from here to the end of the group; Python wants them at the very start
                if at:
                    raise ValueError(f"flags {piece!r} in the middle")
            else:
                piece = re.sub(r"^\(\?P?<\w+>", "(?:", piece)
        elif char == "[":
            piece, size = _set(rest)
            repeated = False
        elif char == "\\":
            piece, size = _escape(rest, inside=False)
            repeated = False
        elif char == "$":
            piece, size, repeated = "\\Z", 1, False
        elif char in "|^":
            piece, size, repeated = char, 1, True
        elif char in ").":
            piece, size, repeated = char, 1, False
        else:
            piece, size, repeated = re.escape(char), 1, False
        out.append(piece)
        at += size
    return re.compile("".join(out))


def _escape(rest: str, *, inside: bool) -> tuple[str, int]:
    """The first escape of a text, and how long it is; inside of a set or outside."""
    name = rest[1:2]
    if name.lower() in _CLASSES:
        chars = _CLASSES[name.lower()]
        if inside:
            if name.isupper():
                raise ValueError(f"\\{name} in a set has no counterpart here")
            return chars, 2
        return f"[{'^' if name.isupper() else ''}{chars}]", 2
    if not inside and _ALONE.get(name):
        return str(_ALONE[name]), 2
    found = _ESCAPED.match(rest)
    if found is None:
        raise ValueError(f"{rest[:2]!r} has no counterpart here")
    wide, narrow, octal, control, char = found.groups()
    code = int(wide or narrow, 16) if wide or narrow else int(octal, 8) if octal else None
    if code is None:
        code = "\a\f\n\r\t\v"["afnrtv".index(control)] if control else char
        return re.escape(code), found.end()
    return re.escape(chr(code)), found.end()


def _set(rest: str) -> tuple[str, int]:
    """The set in brackets that a text starts with, and how long it is."""
    at = 2 if rest[1:2] == "^" else 1
    out = [rest[:at]]
    first = True
    while at < len(rest) and (rest[at] != "]" or first):
        named = re.match(r"\[:(\^?)(\w+):\]", rest[at:])
        if named:
            if named[1] or named[2] not in _NAMED:
                raise ValueError(f"{named[0]} has no counterpart here")
            piece, size = _NAMED[named[2]], named.end()
        elif rest[at] == "\\":
            piece, size = _escape(rest[at:], inside=True)
        else:
            if rest.startswith("--", at):
                raise ValueError("'--' in a set")
            piece, size = rest[at] if rest[at] == "-" else re.escape(rest[at]), 1
        out.append(piece)
        at, first = at + size, False
    if at >= len(rest):
        raise ValueError("a set has no end")
    return "".join(out) + "]", at + 1


@op("_onnx_TfIdfVectorizer")
class TfIdfVectorizer(Standard):
    """Count how often each n-gram of a pool occurs in a row, float32: (C) -> (K), (N, C) -> (N, K), K being 1 more than the
    greatest of ngram_indexes, which say where each n-gram is counted.

    The pool lists them by length, from the places in ngram_counts on. Between the items of an n-gram up to max_skip_count
    others are skipped, the same number each time. mode TF counts, IDF gives the n-gram's weight where it occurs, TFIDF the
    product; weights are in the order of the pool. Source: ONNX TfIdfVectorizer (opset 9 to newest)."""

    max_gram_length: int
    max_skip_count: Size
    min_gram_length: int
    mode: str
    ngram_counts: Sizes
    ngram_indexes: np.ndarray
    pool_int64s: np.ndarray | None = None
    pool_strings: np.ndarray | None = None
    weights: np.ndarray | None = None

    exception = "works on words and bytes"

    inputs = ("X",)
    types = {"X": INDICES | WORDS}

    def check(self):
        if self.mode not in ("TF", "IDF", "TFIDF"):
            return f"got mode={self.mode!r}, wanted TF, IDF or TFIDF"
        if (self.pool_int64s is None) == (self.pool_strings is None):
            return "wanted one of pool_int64s and pool_strings"
        if not 1 <= self.min_gram_length <= self.max_gram_length <= len(self.ngram_counts):
            return (
                f"got n-grams of {self.min_gram_length} to {self.max_gram_length} with {len(self.ngram_counts)} ngram_counts, "
                "wanted 1 <= min_gram_length <= max_gram_length <= their number"
            )
        flat = self._flat()
        if list(self.ngram_counts) != sorted(self.ngram_counts) or self.ngram_counts[-1] > len(flat):
            return f"got ngram_counts={self.ngram_counts}, wanted places in the pool of {len(flat)}, in order"
        if not self.ngram_indexes.size or self.ngram_indexes.min() < 0:
            return f"got ngram_indexes={self.ngram_indexes}, wanted one for each n-gram, none negative"
        if self.weights is not None and len(self.weights) != len(self.ngram_indexes):
            return f"got {len(self.weights)} weights for {len(self.ngram_indexes)} n-grams"
        if len(self._pool()) != len(self.ngram_indexes):
            return f"got a pool of {len(self._pool())} n-grams with {len(self.ngram_indexes)} ngram_indexes"
        return super().check()

    def _flat(self) -> list:
        """The items of the pool."""
        (flat,) = (a.tolist() for a in (self.pool_int64s, self.pool_strings) if a is not None)
        return flat

    def _pool(self):
        """The n-grams, in the order of the pool."""
        flat = self._flat()
        ends = (*self.ngram_counts[1:], len(flat))
        pool = []
        for length, (start, end) in enumerate(zip(self.ngram_counts, ends), 1):
            pool += [tuple(flat[i : i + length]) for i in range(start, end, length)]
        return pool

    def shape(self, x):
        if len(x) not in (1, 2):
            raise self.error(f"got {len(x)} dimensions, wanted (C,) or (N, C)")
        return (*x[:-1], int(self.ngram_indexes.max()) + 1)

    def dtype(self, x):
        return np.dtype(np.float32)

    def meaning(self, x):
        number = self.memo.get("pool")
        if number is None:
            number = self.memo["pool"] = {gram: i for i, gram in enumerate(self._pool())}
        weights = self.weights
        if weights is None or self.mode == "TF":
            weights = np.ones(len(self.ngram_indexes), np.float32)
        made = np.zeros(self.shape(x.shape), np.float32)
        rows = x.tolist() if x.ndim > 1 else [x.tolist()]
        for row, out in zip(rows, made.reshape(len(rows), made.shape[-1])):
            for gram in self._grams(row):
                found = number.get(gram)
                if found is not None:
                    column = self.ngram_indexes[found]
                    out[column] = weights[found] + (0 if self.mode == "IDF" else out[column])
        return made

    def _grams(self, row):
        """All n-grams of a row; single items, which nothing can be skipped in, only once."""
        for step in range(1, min(self.max_skip_count + 2, max(len(row), 2))):
            for start in range(len(row)):
                for length in range(self.min_gram_length, self.max_gram_length + 1):
                    if start + step * (length - 1) < len(row) and (length > 1 or step == 1):
                        yield tuple(row[start : start + step * length : step])

    @classmethod
    def examples(cls, make):
        indexes, weights = make.array([3, 1, 0], "int64"), make.array([0.5, 2, 3])
        grams = {"min_gram_length": 1, "max_gram_length": 2, "ngram_counts": (0, 2), "ngram_indexes": indexes}
        row, pool = make.integers(2, 9, low=1, high=5, dtype="int64"), make.array([1, 2, 3, 4], "int64")
        yield make(row, mode="TF", max_skip_count=2, pool_int64s=pool, **grams)
        yield make(row[0], mode="TFIDF", max_skip_count=0, pool_int64s=pool, weights=weights, **grams)
        words = make.array(["a", "b", "c", "b", "a"], object)
        pool = make.array(["a", "b", "b", "a"], object)
        yield make(words, mode="IDF", max_skip_count=1, pool_strings=pool, weights=weights, **grams)


@op("_onnx_ImageDecoder")
class ImageDecoder(Standard):
    """The pixels of a compressed image, uint8 (H, W, 3), or (H, W, 1) for Grayscale; (0, 0, channels) for what is no image.

    Source: ONNX ImageDecoder (opset 20 to newest), with Pillow's decoders."""

    pixel_format: str = "RGB"

    exception = "works on words and bytes"

    inputs = ("encoded_stream",)
    types = {"encoded_stream": {"uint8"}}
    data_dependent_shape = True

    def check(self):
        if self.pixel_format not in ("RGB", "BGR", "Grayscale"):
            return f"got pixel_format={self.pixel_format!r}, wanted RGB, BGR or Grayscale"
        return super().check()

    def shape(self, data):
        return (UNKNOWN, UNKNOWN, 1 if self.pixel_format == "Grayscale" else 3)

    def dtype(self, data):
        return np.dtype(np.uint8)

    def meaning(self, data):
        from ...formats.images import decode

        gray = self.pixel_format == "Grayscale"
        try:
            pixels = decode(data.tobytes())
        except FormatError:
            return np.zeros((0, 0, 1 if gray else 3), np.uint8)  # as the standard has it
        if gray:  # by the weights of ITU-R BT.601, rounded once
            return (pixels @ np.array([19595, 38470, 7471]) + 32768 >> 16).astype(np.uint8)[:, :, None]
        return np.ascontiguousarray(pixels[:, :, ::-1]) if self.pixel_format == "BGR" else pixels

    @classmethod
    def examples(cls, make):
        picture = make.array(list(b"P6 2 1 255\n\x01\x80\xff\x20\x40\x60"), "uint8")
        for pixel_format in ("RGB", "BGR", "Grayscale"):
            yield make(picture, pixel_format=pixel_format)
