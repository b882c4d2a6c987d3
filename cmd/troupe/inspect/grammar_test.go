package inspect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar"
)

var (
	compileTime = regexp.MustCompile(`"compile_us":\d+\.\d\d`)
	maskTimes   = regexp.MustCompile(`"mask_us":\[(\d+\.\d\d,?)+\]`)
)

// untimed replaces times by "some", and lists of them by their lengths.
func untimed(text string) string {
	text = compileTime.ReplaceAllString(text, `"compile_us":some`)
	return maskTimes.ReplaceAllStringFunc(text, func(list string) string {
		return fmt.Sprintf(`"mask_us":%d`, strings.Count(list, ",")+1)
	})
}

// sentencePiece is a model with byte fallback that puts a space before each text.
func sentencePiece(t *testing.T) string {
	t.Helper()
	vocab := map[string]int{"<unk>": 0, "<s>": 1, "</s>": 2}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = 3 + b
	}
	for i, token := range []string{"▁", "a", "b", "▁a", "ab", "▁ab"} {
		vocab[token] = 259 + i
	}
	list, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json": `{"model":{"type":"BPE","vocab":` + string(list) + `,"merges":["▁ a","a b","▁a b"],"unk_token":"<unk>","fuse_unk":true,"byte_fallback":true},
			"added_tokens":[{"id":0,"content":"<unk>","special":true},{"id":1,"content":"<s>","special":true},{"id":2,"content":"</s>","special":true}],
			"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
			"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}}`,
		"generation_config.json": `{"eos_token_id":2}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInspectGrammar(t *testing.T) {
	spaced := sentencePiece(t)
	for name, c := range map[string]struct{ model, line, want string }{
		"regex": {"", `{"kind":"regex","grammar":"a{2}[é-ë]?","inputs":["aa","aaé","a","aab",""]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":3},{"accepted":true,"mask_us":5},` +
				`{"accepted":false,"mask_us":2,"at":1,"allowed_tokens":1,"allowed":["a"]},` +
				`{"accepted":false,"mask_us":3,"at":2,"allowed_tokens":3,"allowed":["<|eos|>","<|end|>"]},` +
				`{"accepted":false,"mask_us":1,"at":0,"allowed_tokens":1,"allowed":["a"]}],"samples":[]}`},
		"a schema as JSON": {"", `{"kind":"json_schema","grammar":{"enum":[1.50,"x"]},"inputs":["1.50","\"x\"","\"x"]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":5},{"accepted":true,"mask_us":4},` +
				`{"accepted":false,"mask_us":3,"at":2,"allowed_tokens":1,"allowed":["\""]}],"samples":[]}`},
		"a schema as text": {"", `{"kind":"json_schema","grammar":"{\"const\":true}","inputs":["true"]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":4}],"samples":[]}`},
		"true":    {"", `{"kind":"json_schema","grammar":true,"inputs":["7"]}`, `{"compile_us":some,"inputs":[{"accepted":true,"mask_us":2}],"samples":[]}`},
		"json":    {"", `{"kind":"json","grammar":"","inputs":["[7]"]}`, `{"compile_us":some,"inputs":[{"accepted":true,"mask_us":4}],"samples":[]}`},
		"choices": {"", `{"kind":"choice","grammar":["a"],"sample":2}`, `{"compile_us":some,"inputs":[],"samples":["a","a"]}`},
		"a special token": {"", `{"kind":"ebnf","grammar":"root ::= \"a\" <|user|> \"b\"*","inputs":["a<|user|>b","a<|user|><|end|>","a<|system|>"]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":4},{"accepted":true,"mask_us":4},` +
				`{"accepted":false,"mask_us":2,"at":1,"allowed_tokens":1,"allowed":["<|user|>"]}],"samples":[]}`},
		"a sample with a special token": {"", `{"kind":"lark","grammar":"start: <|user|> \"b\"","sample":1}`, `{"compile_us":some,"inputs":[],"samples":["<|user|>b"]}`},
		"a special token as text": {"", `{"kind":"json_schema","grammar":{"type":"string"},"inputs":["\"<|user|>\""]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":10}],"samples":[]}`},
		"after the end": {"", `{"kind":"choice","grammar":["a"],"inputs":["a<|eos|>","a<|eos|>a"]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":3},{"accepted":false,"mask_us":3,"at":8,"allowed_tokens":2,"allowed":["<|eos|>","<|end|>"]}],"samples":[]}`},
		"space before a text": {spaced, `{"kind":"regex","grammar":"ab a?|é","inputs":["ab a","é"," ab"]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":3},{"accepted":true,"mask_us":3},` +
				`{"accepted":false,"mask_us":1,"at":0,"allowed_tokens":4,"allowed":["a","ab"]}],"samples":[]}`},
		"an output": {"", `{"kind":"output","grammar":{"format":{"calls":{"call":{"open":"<call>","headers":["{name}"],"close":"."}}},"required":true,` +
			`"tools":[{"name":"f","parameters":{"const":{},"uniqueItems":3,"format":"regex"}}]},"sample":1,"inputs":["<call>f{}."]}`,
			`{"compile_us":some,"inputs":[{"accepted":true,"mask_us":9}],"samples":[" \n\r\n\t<call>f{}."],"omitted":[{"at":"/tools/0/parameters","keyword":"format"}]}`},
		"refused":               {"", `{"kind":"gbnf","grammar":"root ::= x"}`, `{"refused":"unknown name \"x\"","at":"line 1, column 10"}`},
		"refused with a remedy": {"", `{"kind":"choice","grammar":[]}`, `{"refused":"there is no choice; give at least one string","at":""}`},
		"unknown kind": {"", `{"kind":"bnf","grammar":{}}`,
			`{"refused":"unknown kind of grammar \"bnf\"; use json_schema, json_schema_compact, json, regex, ebnf, gbnf, lark, structural_tag, output or choice","at":""}`},
		"a text that is too short": {spaced, `{"kind":"regex","grammar":"\\w{999}","inputs":["a"]}`,
			`{"compile_us":some,"inputs":[{"accepted":false,"mask_us":2,"at":1,"allowed_tokens":66,"allowed":["0","1","2","3","4","5","6","7","8","9"]}],"samples":[]}`},
	} {
		args := []string{"inspect", "grammar"}
		if c.model != "" {
			args = append(args, "--model", c.model)
		}
		if got := untimed(mustRun(t, "\n"+c.line+"\n", args...)); got != c.want+"\n" {
			t.Errorf("%s:\n got %swant %s", name, got, c.want)
		}
	}
}

// TestInspectGrammarAcceptsItsSamples draws samples and gives them as inputs.
func TestInspectGrammarAcceptsItsSamples(t *testing.T) {
	spaced := sentencePiece(t)
	for _, source := range []string{
		`"kind":"json"`, `"kind":"regex","grammar":"[ a-cé]{3,9}"`, `"kind":"lark","grammar":"start: \"a\" start | <s> | \"é\""`,
		`"kind":"json_schema","grammar":{"type":"object","properties":{"ab":{"type":"string"}},"required":["ab"]}`,
	} {
		draw := func(n int, seed int) (list []string) {
			text := mustRun(t, fmt.Sprintf(`{%s,"sample":%d,"seed":%d}`, source, n, seed), "inspect", "grammar", "--model", spaced)
			var out struct{ Samples []string }
			if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Samples) != n {
				t.Fatalf("%s: %v, %d samples, want %d", text, err, len(out.Samples), n)
			}
			return out.Samples
		}
		samples := draw(20, 7)
		if fewer := draw(5, 7); strings.Join(fewer, "\n") != strings.Join(samples[:5], "\n") {
			t.Errorf("%s: the same seed gives %q and %q", source, fewer, samples[:5])
		}
		if others := draw(20, 8); strings.Join(others, "\n") == strings.Join(samples, "\n") {
			t.Errorf("%s: another seed gives the same samples", source)
		}
		inputs, err := json.Marshal(samples)
		if err != nil {
			t.Fatal(err)
		}
		text := mustRun(t, fmt.Sprintf(`{%s,"inputs":%s}`, source, inputs), "inspect", "grammar", "--model", spaced)
		if n := strings.Count(text, `"accepted":true`); n != len(samples) {
			t.Errorf("%s: %d of %q are accepted: %s", source, n, samples, text)
		}
	}
}

func TestInspectGrammarRefuses(t *testing.T) {
	unnamed := sentencePiece(t)
	if err := os.Remove(filepath.Join(unnamed, "generation_config.json")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, want string
		flags      []string
	}{
		{"{}", `line 1: "kind" is missing`, nil},
		{"[]", `expected an object with "kind" and "grammar"`, nil},
		{"{", "unexpected end", nil},
		{"{\"kind\":\"\xff\"}", "not UTF-8", nil},
		{`{"kind":5}`, "kind is 5; it must be a string", nil},
		{`{"kind":"regex"}`, `"grammar" is missing`, nil},
		{`{"kind":"regex","grammar":{}}`, `"grammar" must be a string for the kind regex`, nil},
		{`{"kind":"lark","grammar":null}`, `"grammar" must be a string for the kind lark`, nil},
		{`{"kind":"json","grammar":{}}`, `"grammar" is not for the kind json`, nil},
		{`{"kind":"json","imputs":[]}`, `unknown field "imputs"; the fields are`, nil},
		{`{"kind":"json","inputs":["a",null]}`, "must be a list of strings", nil},
		{`{"kind":"json","inputs":"a"}`, "must be a list of strings", nil},
		{`{"kind":"json","sample":1.5}`, "sample is 1.5; it must be a whole number", nil},
		{`{"kind":"json","sample":-1}`, "sample is -1; it must be between 0 and 10000", nil},
		{`{"kind":"json","sample":10001}`, "sample is 10001; it must be between 0 and 10000", nil},
		{`{"kind":"json","seed":-1}`, "seed is -1; it must be a whole number", nil},
		{`{"kind":"json"}`, "no token that ends an output", []string{"--model", unnamed}},
	} {
		_, err := run(t, c.line, append([]string{"inspect", "grammar"}, c.flags...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.line, err, c.want)
		}
	}
}

func FuzzGrammarLine(f *testing.F) {
	for _, line := range []string{`{"kind":"json_schema","grammar":{"a":1e400,"b":[]},"inputs":["x"],"sample":3,"seed":18446744073709551615}`,
		`{"kind":"regex","grammar":"a"}`, `{"kind":"json"}`, `{"Kind":"json"}`, `null`, `{"kind":"choice","grammar":["\ud800"]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := parseGrammarLine(line)
		if err != nil {
			return
		}
		if l.source.Kind == "" || l.sample < 0 || l.sample > maxSamples || (l.source.Text != "") && l.source.Kind == grammar.JSON {
			t.Errorf("%+v", l)
		}
		for _, text := range l.inputs {
			_ = *text
		}
	})
}
