package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// required returns the names that schema requires somewhere, as JSON.
func required(t *testing.T, schema []byte) (names []string) {
	t.Helper()
	for _, list := range regexp.MustCompile(`"required"\s*:\s*(\[[^\]]*\])`).FindAllSubmatch(schema, -1) {
		var found []any
		if json.Unmarshal(list[1], &found) != nil {
			continue
		}
		for _, name := range found {
			text, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, string(text))
		}
	}
	return names
}

// sample draws a text byte by byte from what the grammar allows. Chance would
// not spell a required name, so now and then one of names is tried as a whole.
// ok is false when it does not come to an end in a few thousand bytes.
func (r *recogniser) sample(t *testing.T, random *rand.Rand, names []string) (text string, ok bool) {
	t.Helper()
	var out []byte
	for c := r.Start(); len(out) < 6_000; {
		if c.CanEnd() && (c.MustEnd() || random.IntN(3) == 0) {
			return string(out), true
		}
		if len(names) > 0 && random.IntN(4) > 0 {
			name := names[random.IntN(len(names))]
			if next := r.after(t, c, name+":"); next != nil {
				out, c = append(append(out, name...), ':'), next
				continue
			}
		}
		type step struct {
			b    byte
			next *earley.Config
		}
		var closing, all []step
		of := c.ClassOf()
		for class := range c.Classes() {
			members := make([]byte, 0, 256)
			for b := range 256 {
				if int(of[b]) == class {
					members = append(members, byte(b))
				}
			}
			b := members[random.IntN(len(members))]
			next, err := r.Next(c, b)
			if err != nil {
				t.Fatal(err)
			}
			if next == nil {
				continue
			}
			all = append(all, step{b, next})
			if b == '"' || b == '}' || b == ']' {
				closing = append(closing, all[len(all)-1])
			}
		}
		if len(all) == 0 {
			t.Fatalf("a dead end after %q", out)
		}
		from := all
		if len(closing) > 0 && random.IntN(100) < 15+len(out)/8 {
			from = closing
		}
		s := from[random.IntN(len(from))]
		out, c = append(out, s.b), s.next
	}
	return "", false
}

// after returns the configuration after text, nil if there is none.
func (r *recogniser) after(t *testing.T, c *earley.Config, text string) *earley.Config {
	t.Helper()
	for i := 0; i < len(text) && c != nil; i++ {
		next, err := r.Next(c, text[i])
		if err != nil {
			t.Fatal(err)
		}
		c = next
	}
	return c
}

// spaces compiles a pattern for the oracle with the characters that ECMA 262
// means by \s and a full stop, which are others in package regexp.
func spaces(pattern string) (oracle.Regexp, error) {
	const class = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	var out strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch b := pattern[i]; {
		case b == '\\' && i+1 < len(pattern):
			i++
			switch {
			case pattern[i] == 's' && inClass:
				out.WriteString(class)
			case pattern[i] == 's':
				out.WriteString("[" + class + "]")
			case pattern[i] == 'S' && !inClass:
				out.WriteString("[^" + class + "]")
			case pattern[i] == 'S':
				return nil, errors.New("not known to the oracle")
			default:
				out.WriteString(pattern[i-1 : i+1])
			}
			continue
		case b == '.' && !inClass:
			out.WriteString(`[^\n\r\x{2028}\x{2029}]`)
			continue
		case b == '[':
			inClass = true
		case b == ']':
			inClass = false
		}
		out.WriteByte(pattern[i])
	}
	r, err := regexp.Compile(out.String())
	if err != nil {
		return nil, err
	}
	return r, nil
}

// judge compiles schema for the oracle, nil where it cannot.
func judge(schema []byte) *oracle.Schema {
	doc, err := oracle.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil
	}
	c := oracle.NewCompiler()
	c.AssertFormat()
	c.UseRegexpEngine(spaces)
	// No draft knows this format.
	c.RegisterFormat(&oracle.Format{Name: "semver", Validate: func(any) error { return nil }})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		return nil
	}
	return s
}

// checkSamples draws samples of a schema and asks the oracle about each.
func checkSamples(t *testing.T, name string, schema []byte, random *rand.Rand, samples int) (drawn, open int) {
	t.Helper()
	g, _, err := jsonschema.Grammar(schema, jsonschema.Options{})
	s := judge(schema)
	if err != nil || s == nil {
		return 0, 0
	}
	r, names := newRecogniser(t, g), required(t, schema)
	for range samples {
		text, ok := r.sample(t, random, names)
		if !ok {
			open++
			continue
		}
		if !jsontext.Value(text).IsValid() {
			// A name that the schema does not list stands twice, which no grammar
			// can exclude: see "What texts" of the package.
			if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
				t.Errorf("%s: the sample %.600q is not JSON", name, text)
			}
			continue
		}
		drawn++
		v, err := oracle.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: the sample %.600q is refused: %v", name, text, err)
			break
		}
	}
	return drawn, open
}

func TestConformanceSamples(t *testing.T) {
	cases := conformance.Schemas(t)
	random := rand.New(rand.NewPCG(1, 2))
	drawn, open, schemas := 0, 0, 0
	for i, c := range cases {
		if testing.Short() && i%50 != 0 || i%3 != 0 {
			continue
		}
		d, o := checkSamples(t, c.Name, c.Schema, random, 20)
		if d+o > 0 {
			schemas++
		}
		drawn, open = drawn+d, open+o
	}
	t.Logf("%d samples of %d schemas, %d did not end", drawn, schemas, open)
	if drawn == 0 {
		t.Error("no sample was drawn")
	}
}
