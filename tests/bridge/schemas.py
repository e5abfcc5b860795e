"""JSON Schema, as much of it as docs/report-schema.json uses: so that tests need no further package."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
KNOWN = {
    *("$ref", "type", "enum", "const", "pattern", "anyOf", "allOf", "properties", "required", "additionalProperties"),
    *("unevaluatedProperties", "items", "prefixItems", "minItems", "maxItems", "description"),
}


def _is(value: Any, kind: str) -> bool:
    """True for a value of a type of JSON; True is no number there."""
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


class Schema:
    """A schema with its parts. alone: objects have no other fields than it names, and all that it says is looked at."""

    def __init__(self, whole: Mapping[str, Any], alone: bool = False):
        self.parts, self.whole, self.alone = whole["$defs"], whole, alone

    def faults(self, value: Any, part: str | None = None) -> list[str]:
        """Faults of a value: what is not as the whole schema, or a part of it, has it."""
        schema = {"anyOf": self.whole["anyOf"]} if part is None else self.parts[part]
        return self._look(value, schema, "", self.alone)[0]

    def _look(self, value: Any, schema: Mapping[str, Any], at: str, alone: bool) -> tuple[list[str], set[str]]:
        """Faults of a value, and its fields that the schema names."""
        assert {*schema} <= KNOWN, schema
        faults: list[str] = []
        named = {*schema.get("properties", {})}
        if "$ref" in schema:
            inner, names = self._look(value, self.parts[unquote(schema["$ref"]).removeprefix("#/$defs/")], at, False)
            faults, named = faults + inner, named | names
        for part in schema.get("allOf", ()):
            inner, names = self._look(value, part, at, False)
            faults, named = faults + inner, named | names
        if "anyOf" in schema:
            tried = [self._look(value, part, at, alone) for part in schema["anyOf"]]
            if all(inner for inner, _ in tried):
                faults += min((inner for inner, _ in tried), key=lambda inner: (len(inner), -max(map(len, inner))))
            else:
                named |= next(names for inner, names in tried if not inner)
        if value not in schema.get("enum", [value]):
            faults.append(f"{at}: {value!r:.80} is none of {schema['enum']}")
        if value != schema.get("const", value):
            faults.append(f"{at}: {value!r:.80} is not {schema['const']!r}")
        wanted = schema.get("type", [])
        kinds = [wanted] if isinstance(wanted, str) else wanted
        if kinds and not any(_is(value, kind) for kind in kinds):
            return [*faults, f"{at}: {value!r:.80} is no {' or '.join(kinds)}"], named
        if "pattern" in schema and not re.search(schema["pattern"], value):
            faults.append(f"{at}: {value!r:.80} is not like {schema['pattern']}")
        if isinstance(value, dict):
            faults += self._fields(value, schema, at)
            if self.alone and alone and named and "additionalProperties" not in schema:
                faults += [f"{at}: {name} is not in the schema" for name in value if name not in named]
        if isinstance(value, list):
            faults += self._elements(value, schema, at)
        return faults, named

    def _fields(self, value: dict[str, Any], schema: Mapping[str, Any], at: str) -> list[str]:
        faults = [f"{at}: no {name}" for name in schema.get("required", ()) if name not in value]
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, each in value.items():
            inner = properties.get(name, others)
            if inner is not None:
                faults += self._look(each, inner, f"{at}.{name}", True)[0]
        return faults

    def _elements(self, value: list[Any], schema: Mapping[str, Any], at: str) -> list[str]:
        first = schema.get("prefixItems", ())
        faults = []
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            faults.append(f"{at}: {len(value)} elements")
        for number, each in enumerate(value):
            inner = first[number] if number < len(first) else schema.get("items")
            if inner is not None:
                faults += self._look(each, inner, f"{at}[{number}]", True)[0]
        return faults
