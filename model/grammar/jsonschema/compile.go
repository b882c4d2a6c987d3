package jsonschema

import (
	"errors"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Options say how a schema is compiled. The zero value is strict.
type Options struct {
	// Lenient leaves out keywords that cannot be kept, and lists them, instead
	// of refusing the schema. A schema that is invalid is refused all the same.
	Lenient bool
	// Dialect is the "$schema" of schemas that have none. Empty: draft 2020-12.
	Dialect string
	// Remotes maps addresses, without fragment, to schemas that "$ref" may
	// name. Nothing is ever fetched.
	Remotes map[string][]byte
	// Indent is the maximum of spaces and tabs behind a line break. Zero: 64.
	// Negative: no whitespace at all.
	Indent int
	// Objects restricts the texts to objects that fulfil the schema.
	Objects bool
	// Python also writes null, false and true as Python does, and no escape that Python
	// reads in another way.
	Python bool
	// Without is a text that no string holds, unless an escape is in it. Empty: none.
	Without string
	// Steps, if not nil, is what is left of Limits.Work: schemas of one grammar share it.
	Steps  *int
	Limits Limits
}

// Limits bound a compilation. They are hard; zero means the default.
type Limits struct {
	Bytes  int // of a schema or a remote one; 4 MiB
	Values int // in it; 1,000,000
	Depth  int // of nesting; 1,000
	Work   int // steps of evaluation, each about a microsecond; 2,000,000
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		limit *int
		value int
	}{{&l.Bytes, 4 << 20}, {&l.Values, 1_000_000}, {&l.Depth, 1_000}, {&l.Work, 2_000_000}} {
		if *d.limit == 0 {
			*d.limit = d.value
		}
	}
	return l
}

// maxOmissions bounds the keywords that a lenient compilation leaves out.
const maxOmissions = 64

// Omission is a keyword that was left out.
type Omission struct {
	Pointer string // of the schema that it is in
	Keyword string
}

// Compile adds the JSON texts that fulfil a schema to b and returns their
// symbol. An error is an [*Error]. A schema whose contradictions lie deep is
// found out by b.Build only: [Grammar] words that too.
func Compile(b *cfg.Builder, schema []byte, options Options) (cfg.Symbol, []Omission, error) {
	var symbol cfg.Symbol
	omissions, err := compile(b, schema, options, func(c *compiler, root *value) {
		x := c.root(root)
		symbol = c.lower(x)
		c.mustHold(x)
	})
	return symbol, omissions, err
}

// compile reads a schema and has it lowered. Where keywords may be left out it begins again
// without the one that cannot be kept.
func compile(b *cfg.Builder, schema []byte, options Options, lower func(*compiler, *value)) ([]Omission, error) {
	limits := options.Limits.withDefaults()
	root, err := read(schema, readLimits{limits.Bytes, limits.Values, limits.Depth})
	if err != nil {
		return nil, err
	}
	leftOut := map[place]bool{}
	var omissions []Omission
	left := &limits.Work
	if options.Steps != nil {
		left = options.Steps
	}
	for {
		c := newCompiler(b, root, options, limits, left)
		c.leftOut = leftOut
		r := c.refusal(func() { lower(c, root) })
		if r == nil {
			return omissions, nil
		}
		if !options.Lenient || r.omit.at == nil || r.omit.keyword == "" || leftOut[r.omit] || len(omissions) == maxOmissions {
			return nil, r.err
		}
		// Remote documents are read again, so a place in one is not found again:
		// then the same omission comes twice, and ends here.
		leftOut[r.omit] = true
		omissions = append(omissions, Omission{r.err.Pointer, r.err.Keyword})
	}
}

// Grammar compiles a schema into a grammar of its own.
func Grammar(schema []byte, options Options) (*cfg.Grammar, []Omission, error) {
	b := cfg.New(regex.NewSet(regex.Limits{Terms: maxTerms}), cfg.Limits{})
	start, omissions, err := Compile(b, schema, options)
	if err != nil {
		return nil, nil, err
	}
	g, err := b.Build(start)
	var empty *cfg.EmptyError
	if errors.As(err, &empty) {
		err = &Error{Reason: contradiction}
	} else if err != nil {
		err = &Error{Reason: err.Error()}
	}
	return g, omissions, err
}

// maxTerms bounds the terms of [Grammar]: about a second of work.
const maxTerms = 250_000

const contradiction = "no value fulfils the schema"

// compiler is one compilation.
type compiler struct {
	exprs
	set      *regex.Set
	speller  *speller
	numbers  *numberTerms
	docs     documents
	scopes   *scopes
	options  Options
	limits   Limits
	left     *int // steps
	tracking bool // a keyword "unevaluated…" is there
	strict   bool // the schema has the form that OpenAI's strict mode asks for
	leftOut  map[place]bool

	here    *value // the schema under evaluation
	keyword string // of it
	depth   int    // of provedEmpty

	patterns  map[string]regex.Term
	formats   map[string]regex.Term
	multiples map[decimal]numbers

	lowering
}

func newCompiler(b *cfg.Builder, root *value, options Options, limits Limits, left *int) *compiler {
	style := asJSON
	if options.Python {
		style = asPython
	}
	c := &compiler{
		exprs: newExprs(), set: b.Set, speller: newSpeller(b.Set, style), numbers: newNumberTerms(b.Set), scopes: newScopes(),
		options: options, limits: limits, left: left,
		patterns: map[string]regex.Term{}, formats: map[string]regex.Term{}, multiples: map[decimal]numbers{},
	}
	c.docs = documents{
		byAddress: map[string]*resource{}, byRoot: map[*value]*resource{}, address: map[*value]string{},
		remotes: options.Remotes, limits: readLimits{limits.Bytes, limits.Values, limits.Depth}, fallback: draft2020,
	}
	if d, ok := draftOf(options.Dialect); ok {
		c.docs.fallback = d
	}
	c.docs.add(root, "")
	c.tracking, c.strict = c.docs.unevaluated, !c.docs.loose
	c.lowering = newLowering(b, options)
	return c
}

// refusal runs a part of the compilation and returns the refusal that ended it, if any.
func (c *compiler) refusal(run func()) (r *refusal) {
	defer func() {
		if p := recover(); p != nil {
			ended, ours := p.(refusal)
			if !ours {
				panic(p)
			}
			r = &ended
		}
	}()
	run()
	return nil
}

// root returns what the whole text may be.
func (c *compiler) root(root *value) expr {
	x := c.schema(root, 0)
	if c.options.Objects {
		x = c.and(x, c.typed(&shape{objects: []*objectCase{c.anyObject()}}))
	}
	return x
}

// typed returns the set of values of a shape that no schema describes.
func (c *compiler) typed(s *shape) expr { return c.push(exprNode{op: opTyped, shape: s}) }

// mustHold refuses x if it is known to have no member.
func (c *compiler) mustHold(x expr) {
	if c.provedEmpty(x) {
		panic(refusal{err: &Error{Reason: contradiction}})
	}
}
