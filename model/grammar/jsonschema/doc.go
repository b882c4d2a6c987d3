// Package jsonschema compiles JSON Schema into context-free grammars whose
// terminals are regular languages: the texts of the grammar are the JSON texts
// that fulfil the schema. A schema of which that cannot be said is refused by
// the place and the keyword, see [Error], never kept in part, unless
// [Options.Lenient] asks for it.
//
// Drafts 4, 6, 7, 2019-09 and 2020-12 are known; "$schema" chooses.
//
// # How
//
// A schema becomes a set of values, apart by type. Numbers and texts are terms
// of package regex. Arrays and objects are lists of cases: a case of arrays has
// sets for its items, one for the rest, and counts; a case of objects has sets
// for names, classes of further names, and counts. Union, intersection and
// complement of sets are exact, so allOf, anyOf, oneOf, not, if and
// dependentSchemas need no rules of their own. Sets below a value are named
// and looked at only when they are needed; a set that holds itself becomes a
// nonterminal that does.
//
// # What texts
//
// Properties come in any order, as JSON Schema says. So every valid object can
// be written, and a model is not made to begin with a property that it would
// have written later.
//
// There is one exception. A schema may have the form that OpenAI's strict mode
// asks for: each schema of objects in it has "additionalProperties": false and
// requires all of its properties. Then properties come in the order in which
// "properties" lists them, because clients of that mode rely on it.
//
// A name that is listed, by "properties", "required" or another keyword, comes
// at most once. Others could repeat: no grammar can exclude that, so
// minProperties counts what stands there.
//
// Around punctuation one blank may stand, or a line break and an indentation
// of at most [Options.Indent] characters.
//
// A text without constraint may be spelled as JSON allows. Under a constraint,
// as a name or value that is listed too, characters that no writer of JSON
// escapes (letters, digits, blank and most ASCII punctuation) stand for
// themselves, so that a listed name has one spelling; all others may be raw,
// \uXXXX, or a short escape. Half a surrogate pair is not a character.
//
// Numbers compare as decimals, of any size. 1.0 is an integer (from draft 6 on)
// and equals 1. A number under a constraint has no exponent, except where the
// constraint is one of sign.
//
// # What holds
//
// Known formats are enforced, unknown ones are annotations, as are content…
// keywords. Host names have no labels with "--" in third place (they would be
// punycode), URIs no addresses in brackets but IPv6. The formats regex,
// idn-hostname and idn-email are refused. Patterns are those of package ecma.
//
// uniqueItems holds where there is at most one item, where items are of ten
// known values at most, or where places are apart. multipleOf holds for factors
// of 2 and 5 and primes up to 11. References lead to places in the schema and in
// [Options.Remotes]; nothing is fetched.
//
// # Members in another form
//
// A format of calls may write the members of the outermost object in its own way:
// between tags, or as arguments of Python. [CompileMembers] works the schema out
// twice, once with texts as they are, for names and strings of that object, and once
// for the JSON of all other values.
//
// # Bounds
//
// [Limits] bound a schema in size and depth, and its compilation in counted
// steps; the set and the builder that are handed in bound terms and rules. So
// the same schema is refused on every machine or on none.
package jsonschema
