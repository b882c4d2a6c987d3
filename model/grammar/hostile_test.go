package grammar_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// many writes n parts with a separator between them.
func many(n int, separator string, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(part(i))
	}
	return b.String()
}

// nested writes n times open, then middle, then n times shut.
func nested(n int, open, middle, shut string) string {
	return strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
}

func properties(n int, body string, required bool) string {
	text := `{"type":"object","properties":{` + many(n, ",", func(i int) string { return fmt.Sprintf(`"property_%06d":%s`, i, body) }) + "}"
	if required {
		text += `,"required":[` + many(n, ",", func(i int) string { return fmt.Sprintf(`"property_%06d"`, i) }) + "]"
	}
	return text + "}"
}

func branches(keyword string, n int, body string) string {
	return `{"` + keyword + `":[` + many(n, ",", func(i int) string { return strings.ReplaceAll(body, "#", fmt.Sprint(i)) }) + "]}"
}

func triggered(n int) string {
	return `{"format":{"type":"triggered_tags","triggers":[` + many(n, ",", func(i int) string { return fmt.Sprintf(`"<f%d="`, i) }) + `],"tags":[` +
		many(n, ",", func(i int) string {
			return fmt.Sprintf(`{"begin":"<f%d=x>","content":{"type":"json_schema","json_schema":{"type":"object"}},"end":"</f>"}`, i)
		}) + "]}}"
}

const (
	kinds = `{"type":"object","properties":{"a#":{"type":"string"},"kind":{"const":"k#"}},"required":["a#","kind"]}`
	loose = `{"type":"object","properties":{"a#":{"type":"string"}}}`
)

// hostile are sources that someone sends to keep a server busy. Many of them grow with size.
func hostile(size int) map[string]grammar.Source {
	value := func(i int) string { return fmt.Sprintf(`"value%07d"`, i*7919%10_000_000) }
	list := map[string]grammar.Source{}
	for kind, texts := range map[grammar.Kind]map[string]string{
		grammar.JSONSchema: {
			"properties":          properties(800*size, `{"type":"string"}`, false),
			"required properties": properties(500*size, `{"type":"string"}`, true),
			"enum":                `{"enum":[` + many(2000*size, ",", value) + "]}",
			"nested items":        nested(500, `{"items":`, "{}", "}"),
			"too deep items":      nested(10_000, `{"items":`, "{}", "}"),
			"nested not":          nested(200, `{"not":`, `{"required":["a"]}`, "}"),
			"nested oneOf":        nested(100, `{"oneOf":[{"type":"string"},{"type":"number"},`, `{"type":"null"}`, "]}"),
			"oneOf objects":       branches("oneOf", 100*size, kinds),
			"anyOf objects":       branches("anyOf", 20*size, kinds),
			"oneOf loose":         branches("oneOf", 20*size, loose),
			"allOf loose":         branches("allOf", 20*size, loose),
			"oneOf patterns":      branches("oneOf", 10*size, `{"pattern":"a#"}`),
			"allOf patterns":      branches("allOf", 10*size, `{"pattern":"a#"}`),
			"allOf anyOf":         branches("allOf", 10*size, `{"anyOf":[{"required":["a#"]},{"required":["b#"]}]}`),
			"name patterns":       `{"patternProperties":{` + many(size, ",", func(i int) string { return fmt.Sprintf(`"x%d.*y":{"minLength":%d}`, i, i) }) + "}}",
			"counts of counts":    `{"type":"string","pattern":"^((a{1,1000}){1,1000}){1,1000}$"}`,
			"counts and lengths":  `{"type":"string","pattern":"^(.{1,63}\\.){1,127}$","minLength":100,"maxLength":2000}`,
			"items":               `{"type":"array","minItems":1000000}`,
			"items of items":      `{"type":"array","maxItems":100000,"items":{"type":"array","maxItems":100000}}`,
			"length":              `{"type":"string","minLength":1000000,"maxLength":2000000}`,
			"letters": `{"properties":{` + many(200*size, ",", func(i int) string {
				return fmt.Sprintf(`"%d":{"pattern":"[\\p{L}%c]"}`, i, rune(0x4e00+i))
			}) + "}}",
			"multiples": `{"type":"integer","multipleOf":999983}`,
		},
		grammar.Regex: {
			"counts of counts":       `(a{1,1000}){1,1000}`,
			"counts in counts":       `(.{1,63}\.){1,127}`,
			"look-aheads":            strings.Repeat(`(?=.*a.{20})`, 3) + strings.Repeat(`(?!.*b.{30}c)`, 3) + `.{0,300}`,
			"many look-aheads":       many(10*size, "", func(i int) string { return fmt.Sprintf(`(?!.*x%d)`, i) }) + ".*",
			"optional parts":         strings.Repeat(`a?`, 50*size) + strings.Repeat(`a`, 50*size),
			"optional classes":       strings.Repeat(`[a-z]?[a-y]?`, 100*size),
			"nested stars":           `((((((a*)*b*)*c*)*d*)*e*)*f*)*`,
			"subsets":                `.*a.{25}b.*c.{25}d`,
			"alternatives":           many(1000*size, "|", func(i int) string { return fmt.Sprintf("%x", i*77) }),
			"a long word":            strings.Repeat("a", 4<<20),
			"letters":                "(?i)(" + many(200*size, "|", func(i int) string { return fmt.Sprintf(`[\pL%c]`, rune(0x4e00+i)) }) + ")*",
			"letters in one class":   "(?i)[" + strings.Repeat(`\pL`, 1000*size) + "]",
			"classes without a case": "(?i)" + strings.Repeat(`[^\p{L}\d_]{0,100}\w{1,100}`, 50),
		},
		grammar.EBNF: {
			"ambiguity": `root ::= root root | root root root | "a" | "aa" | "b"?`,
			"mutual": "root ::= r0 | \"a\"\n" + many(10*size, "\n", func(i int) string {
				return fmt.Sprintf(`r%d ::= root r%d | r%d root | "a"`, i, (i+1)%(10*size), (i*7+3)%(10*size))
			}),
			"left recursion":  "root ::= r0\n" + many(200*size, "\n", func(i int) string { return fmt.Sprintf(`r%d ::= r%d "x" | "y%d"`, i, (i+1)%(200*size), i) }),
			"right recursion": "root ::= r0\n" + many(200*size, "\n", func(i int) string { return fmt.Sprintf(`r%d ::= "x" r%d | "x"`, i, (i+1)%(200*size)) }),
			"optional rules":  "root ::= " + many(50*size, " ", func(i int) string { return fmt.Sprint("r", i) }) + "\n" + many(50*size, "\n", func(i int) string { return fmt.Sprintf(`r%d ::= "x%d" | ""`, i, i) }),
			"counts":          `root ::= (("a" | "b" root){0,1000} "c"?){0,1000}`,
			"words":           "root ::= (" + many(1000*size, " | ", func(i int) string { return fmt.Sprintf(`"w%d"`, i) }) + ")*",
			"parentheses":     "root ::= " + nested(10_000, "(", `"a"`, ")"),
		},
		grammar.Lark: {
			"lazy terminals": "start: (" + many(20*size, " | ", func(i int) string { return fmt.Sprint("t", i) }) + ")*\n" +
				many(20*size, "\n", func(i int) string { return fmt.Sprintf("t%d[lazy]: /[a-z]*x%d[^q]*y/", i, i) }) + "\n",
			"complements": "start: A\nA: " + nested(60, "~(", "/a.*b/ & /.*c.{50}/", ")") + "\n",
			"doubling":    "start: T0\n" + many(40, "\n", func(i int) string { return fmt.Sprintf("T%d: T%d T%d", i, i+1, i+1) }) + "\nT40: \"a\"\n",
		},
		grammar.Tags: {
			"triggers":       triggered(50 * size),
			"excluded words": `{"format":{"type":"any_text","excludes":[` + many(50*size, ",", func(i int) string { return fmt.Sprintf(`"word%d"`, i*31) }) + "]}}",
		},
		grammar.Choice: {
			"choices": "[" + many(2000*size, ",", value) + "]",
		},
	} {
		for name, text := range texts {
			list[string(kind)+" "+name] = grammar.Source{Kind: kind, Text: text}
		}
	}
	return list
}

// TestHostileGrammars: whatever comes is compiled and followed, or refused. The log says what
// it costs.
func TestHostileGrammars(t *testing.T) {
	small := smallVocabulary(t)
	for name, source := range hostile(4) {
		checkHostile(t, name, source, small)
	}
}

// TestConformanceHostileGrammars does the same at full size, with a large vocabulary.
func TestConformanceHostileGrammars(t *testing.T) {
	v, _ := llama3Vocabulary(t)
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, source := range hostile(100) {
		checkHostile(t, name, source, v)
	}
}

func checkHostile(t *testing.T, name string, source grammar.Source, v *vocab.Vocabulary) {
	t.Helper()
	refused := func(err error) string {
		var e *grammar.Error
		if !errors.As(err, &e) || strings.Contains(e.Reason, "bug") {
			t.Errorf("%s: %v", name, err)
		}
		return fmt.Sprintf("refused: %.100s", err)
	}
	start := time.Now()
	g, err := grammar.Compile(source, v, grammar.Limits{})
	compiled := time.Since(start)
	if err != nil {
		t.Logf("%-36s %8.1f ms, %s", name, 1e3*compiled.Seconds(), refused(err))
		return
	}
	m, mask, random := g.Matcher(), make([]uint32, v.Words()), rand.New(rand.NewPCG(1, 2))
	var first, slowest time.Duration
	end := ""
	for n := 0; n < 20 && !m.MustEnd(); n++ {
		start := time.Now()
		err := m.Mask(mask)
		took := time.Since(start)
		if slowest = max(slowest, took); n == 0 {
			first = took
		}
		if err != nil {
			end = refused(err)
			break
		}
		token, ok := v.Draw(mask, true, random)
		if !ok {
			break
		}
		if err := m.Accept(token); err != nil {
			t.Errorf("%s: a token of the mask: %v", name, err)
			return
		}
	}
	t.Logf("%-36s %8.1f ms, first mask %8.2f ms, slowest %8.2f ms, %5.1f MB %s", name, 1e3*compiled.Seconds(), 1e3*first.Seconds(), 1e3*slowest.Seconds(), float64(g.Bytes())/1e6, end)
}
