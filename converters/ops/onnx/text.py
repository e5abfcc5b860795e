"""Words and pictures."""

from ...registry import itself

itself("StringConcat", "StringSplit", "RegexFullMatch", "ImageDecoder", since=20)
itself("StringNormalizer", since=10)
itself("TfIdfVectorizer", since=9)
