package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/earley"
	"github.com/troupe-engine/troupe/model/grammar/jsonschema"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// layouts are the ways in which an instance is written.
func layouts(t *testing.T, data []byte) []string {
	t.Helper()
	var compact, indented bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, data, "", "    "); err != nil {
		t.Fatal(err)
	}
	var spaced strings.Builder
	inString, escaped := false, false
	for _, b := range compact.Bytes() {
		spaced.WriteByte(b)
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		case b == ',' || b == ':':
			spaced.WriteByte(' ')
		}
	}
	return []string{compact.String(), spaced.String(), indented.String()}
}

// recogniser reads texts by a grammar.
type recogniser struct{ *earley.Automaton }

func newRecogniser(t *testing.T, g *cfg.Grammar) recogniser {
	t.Helper()
	a, err := earley.New(g, earley.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return recogniser{a}
}

func (r *recogniser) accepts(t *testing.T, text string) bool { return r.stops(t, text) < 0 }

// stops returns where the grammar cannot go on with text, its length where the
// text must not end there, -1 where all is well.
func (r *recogniser) stops(t *testing.T, text string) int {
	t.Helper()
	c := r.Start()
	for i := 0; i < len(text); i++ {
		next, err := r.Next(c, text[i])
		if errors.Is(err, earley.ErrFull) {
			fresh, err := r.Fresh()
			if err != nil {
				t.Fatal(err)
			}
			if c, err = fresh.Import(r.Automaton, c); err != nil {
				t.Fatal(err)
			}
			r.Automaton = fresh
			next, err = r.Next(c, text[i])
			if err != nil {
				t.Fatal(err)
			}
			c = next
		} else if err != nil {
			t.Fatalf("at byte %d of %.200q: %v", i, text, err)
		} else {
			c = next
		}
		if c == nil {
			return i
		}
	}
	if !c.CanEnd() {
		return len(text)
	}
	return -1
}

// tally counts names.
type tally map[string]int

func (c tally) log(t *testing.T, title string) {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return c[b] - c[a] })
	var b strings.Builder
	for _, n := range names {
		b.WriteString("\n\t")
		b.WriteString(n)
		b.WriteString(": ")
		b.WriteString(json.Number(itoa(c[n])).String())
	}
	t.Logf("%s%s", title, b.String())
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func keywordOf(err error) string {
	var e *jsonschema.Error
	if errors.As(err, &e) {
		return e.Keyword
	}
	return "?"
}

func TestConformanceMaskBench(t *testing.T) {
	cases := conformance.Schemas(t)
	passed, refused, byKeyword := tally{}, 0, tally{}
	rejects, accepts := 0, 0
	slowest, worst := time.Duration(0), ""
	for i, c := range cases {
		if testing.Short() && i%10 != 0 {
			continue
		}
		start := time.Now()
		g, _, err := jsonschema.Grammar(c.Schema, jsonschema.Options{})
		if d := time.Since(start); d > slowest {
			slowest, worst = d, c.Name
		}
		if err != nil {
			refused++
			byKeyword[keywordOf(err)]++
			if testing.Verbose() {
				t.Logf("refused %s (llg %s): %v", c.Name, c.LLGuidance, err)
			}
			continue
		}
		r := newRecogniser(t, g)
		bad, wrong := false, false
		for j, test := range c.Tests {
			for k, text := range layouts(t, test.Data) {
				if got := r.accepts(t, text); got != test.Valid {
					if test.Valid {
						bad = true
						at := r.stops(t, text)
						t.Logf("REJECTS valid %s test %d layout %d (llg %s): …%q ! %q…", c.Name, j, k, c.LLGuidance, text[max(0, at-60):at], text[at:min(len(text), at+30)])
					} else {
						wrong = true
						t.Logf("ACCEPTS invalid %s test %d layout %d (llg %s)", c.Name, j, k, c.LLGuidance)
					}
					break
				}
			}
		}
		switch {
		case wrong:
			accepts++
		case bad:
			rejects++
		default:
			passed[c.LLGuidance]++
		}
	}
	passed.log(t, "passed, by what LLGuidance makes of them")
	byKeyword.log(t, "refused, by keyword")
	pass := passed["pass"] + passed["refused"] + passed["wrong"]
	t.Logf("passed %d, refused %d, reject a valid instance %d, accept an invalid one %d; slowest compilation %v (%s)",
		pass, refused, rejects, accepts, slowest, worst)
	// One instance is indented by more than Options.Indent characters.
	if accepts > 0 || rejects > 1 {
		t.Errorf("%d schemas accept an invalid instance, %d reject a valid one", accepts, rejects)
	}
	if all := pass + refused + rejects + accepts; pass*100 < all*98 {
		t.Errorf("%d of %d schemas pass", pass, all)
	}
}

// suiteCase is a line of jsonschema_suite.jsonl.
type suiteCase struct {
	Draft       string          `json:"draft"`
	File        string          `json:"file"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// suiteDifference says why a test of the suite is not followed, "" if it is.
func suiteDifference(draft, file, data string) string {
	switch {
	case file == "format.json":
		return "formats are enforced always"
	case file == "optional/content.json" && draft == "draft7":
		return "content keywords are annotations, as in later drafts"
	case file == "optional/float-overflow.json":
		return "a number under multipleOf has no exponent"
	case file == "optional/format/hostname.json" && strings.Contains(data, "--"):
		return "host names have no labels with hyphens in third and fourth place"
	case strings.HasPrefix(file, "optional/format/iri") && strings.Contains(data, "[V"):
		return "of addresses in brackets only IPv6 is known"
	}
	return ""
}

func TestConformanceSuite(t *testing.T) {
	cases := conformance.Lines[suiteCase](t, conformance.Path(t, "structured", "jsonschema_suite.jsonl.xz"))
	text, err := os.ReadFile(conformance.Path(t, "structured", "jsonschema_suite_remotes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]json.RawMessage
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	remotes := map[string][]byte{}
	for name, schema := range files {
		remotes["http://localhost:1234/"+name] = schema
	}
	drafts := map[string]string{"draft4": "http://json-schema.org/draft-04/schema#", "draft6": "http://json-schema.org/draft-06/schema#",
		"draft7": "http://json-schema.org/draft-07/schema#", "draft2019-09": "https://json-schema.org/draft/2019-09/schema"}
	byKeyword, byFile, listed := tally{}, tally{}, tally{}
	passed, refused, wrong := 0, 0, 0
	for _, c := range cases {
		g, _, err := jsonschema.Grammar(c.Schema, jsonschema.Options{Remotes: remotes, Dialect: drafts[c.Draft]})
		if err != nil {
			refusedHere := true
			var e *jsonschema.Error
			if errors.As(err, &e) && e.Unsatisfiable() {
				refusedHere = false // which is right if nothing is valid
				for _, test := range c.Tests {
					refusedHere = refusedHere || test.Valid
				}
				if refusedHere {
					t.Errorf("%s %s %q: no value is said to fulfil it", c.Draft, c.File, c.Description)
				}
			}
			if refusedHere {
				refused += len(c.Tests)
				byKeyword[keywordOf(err)] += len(c.Tests)
				byFile[c.Draft+"/"+c.File] += len(c.Tests)
				if testing.Verbose() {
					t.Logf("refused %s %s %q: %v", c.Draft, c.File, c.Description, err)
				}
			} else {
				passed += len(c.Tests)
			}
			continue
		}
		r := newRecogniser(t, g)
		for _, test := range c.Tests {
			switch text := layouts(t, test.Data)[0]; {
			case r.accepts(t, text) == test.Valid:
				passed++
			case suiteDifference(c.Draft, c.File, string(test.Data)) != "":
				listed[suiteDifference(c.Draft, c.File, string(test.Data))]++
			default:
				wrong++
				t.Errorf("WRONG %s %s %q: %q, valid: %v, %.200s", c.Draft, c.File, c.Description, test.Description, test.Valid, text)
			}
		}
	}
	byFile.log(t, "refused, by file")
	listed.log(t, "listed differences")
	byKeyword.log(t, "refused, by keyword")
	t.Logf("passed %d, refused %d, wrong %d", passed, refused, wrong)
}

// grammarCase is a line of grammar_cases.jsonl.
type grammarCase struct {
	Source  string          `json:"source"`
	Test    string          `json:"test"`
	Kind    string          `json:"kind"`
	Grammar json.RawMessage `json:"grammar"`
	Accept  []string        `json:"accept"`
	Reject  []string        `json:"reject"`
	Refuse  bool            `json:"refuse"`
}

func TestConformanceGrammarCases(t *testing.T) {
	cases := conformance.Lines[grammarCase](t, conformance.Path(t, "structured", "grammar_cases.jsonl"))
	passed, refused, wrong, listed := 0, tally{}, 0, 0
	for _, c := range cases {
		if c.Kind != "json_schema" {
			continue
		}
		schema := []byte(c.Grammar)
		var text string
		if json.Unmarshal(schema, &text) == nil {
			schema = []byte(text)
		}
		g, _, err := jsonschema.Grammar(schema, jsonschema.Options{})
		if err != nil {
			if c.Refuse || len(c.Accept) == 0 {
				passed++
				continue
			}
			refused[keywordOf(err)]++
			t.Errorf("REFUSED %s %s: %v in %.200s", c.Source, c.Test, err, schema)
			continue
		}
		r := newRecogniser(t, g)
		good := !c.Refuse
		if c.Refuse {
			t.Logf("COMPILED %s %s: %.300s", c.Source, c.Test, schema)
		}
		for _, text := range c.Accept {
			if at := r.stops(t, text); at >= 0 {
				good = false
				t.Logf("REJECTS %s %s: %.100q ! %.60q by %.300s", c.Source, c.Test, text[:at], text[at:], schema)
			}
		}
		for _, text := range c.Reject {
			if r.accepts(t, text) {
				good = false
				t.Logf("ACCEPTS %s %s: %.100q by %.300s", c.Source, c.Test, text, schema)
			}
		}
		switch {
		case good:
			passed++
		case caseDifference(c) != "":
			listed++
		default:
			wrong++
			t.Errorf("%s %s is wrong", c.Source, c.Test)
		}
	}
	refused.log(t, "refused, by keyword")
	t.Logf("passed %d, refused %d, wrong %d, listed differences %d", passed, refused.total(), wrong, listed)
}

// caseDifference says why a case is not followed, "" if it is.
func caseDifference(c grammarCase) string {
	switch {
	case strings.Contains(c.Test, "any_order_acceptance"):
		return "a listed name comes at most once"
	case strings.Contains(c.Test, "any_order"):
		return "in a schema for strict mode, properties come in declared order"
	case strings.Contains(c.Test, "uri_template"):
		return "an apostrophe is a literal, by erratum 6937 of RFC 6570"
	}
	return ""
}

func (c tally) total() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}
