package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

const petSchema = `{"type": "object", "properties": {"pet": {"enum": ["cat", "dog"]}, "age": {"type": "integer", "minimum": 0, "maximum": 30}}, "required": ["pet", "age"], "additionalProperties": false}`

// isPet says in plain Go what petSchema says.
func isPet(text string) bool {
	var all map[string]any
	if json.Unmarshal([]byte(text), &all) != nil || len(all) != 2 {
		return false
	}
	age, is := all["age"].(float64)
	return (all["pet"] == "cat" || all["pet"] == "dog") && is && age == math.Trunc(age) && age >= 0 && age <= 30
}

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }

// Every name under which servers take a grammar has its effect at every endpoint, also in
// streams and among several choices.
func TestOutputsMatchTheirGrammar(t *testing.T) {
	s := testserver.Start(t, testserver.Options{EOSChance: 0.05})
	yesOrNo := func(text string) bool { return text == "yes" || text == "no" }
	yes := func(text string) bool { return text == "yes" }
	for _, c := range []struct {
		fields object
		want   func(string) bool
	}{
		{object{"response_format": object{"type": "json_schema", "json_schema": object{"name": "pet", "strict": true, "schema": rawJSON(petSchema)}}}, isPet},
		{object{"response_format": object{"type": "json_object", "schema": rawJSON(petSchema)}}, isPet},
		{object{"response_format": object{"type": "structural_tag", "format": object{"type": "const_string", "value": "yes"}}}, yes},
		{object{"structured_outputs": object{"json": rawJSON(petSchema)}}, isPet},
		{object{"structured_outputs": object{"regex": "yes|no"}}, yesOrNo},
		{object{"structured_outputs": object{"choice": list{"yes", "no"}}}, yesOrNo},
		{object{"structured_outputs": object{"grammar": `root ::= "yes" | "no"`}}, yesOrNo},
		{object{"structured_outputs": object{"grammar": `start: "yes" | "no"`}}, yesOrNo},
		{object{"guided_json": rawJSON(petSchema)}, isPet},
		{object{"guided_json": petSchema}, isPet},
		{object{"guided_regex": "yes|no"}, yesOrNo},
		{object{"guided_choice": list{"yes", "no"}}, yesOrNo},
		{object{"guided_grammar": `start: "yes" | "no"`}, yesOrNo},
		{object{"json_schema": petSchema}, isPet},
		{object{"json_schema": rawJSON(petSchema)}, isPet},
		{object{"regex": "yes|no"}, yesOrNo},
		{object{"ebnf": `root ::= "yes" | "no"`}, yesOrNo},
		{object{"structural_tag": `{"type": "structural_tag", "format": {"type": "const_string", "value": "yes"}}`}, yes},
		{object{"grammar": `root ::= "yes" | "no"`}, yesOrNo},
		{object{"format": rawJSON(petSchema)}, isPet},
		// Before the text may end it does not, and where it must it does.
		{object{"regex": "yes|no", "min_tokens": 50, "ignore_eos": true, "logit_bias": object{"1279": -100}}, yesOrNo},
	} {
		limit := object{"max_tokens": 200, "n": 2}
		for path, texts := range map[string]func(object) []string{
			"/v1/chat/completions": func(a object) (list []string) {
				for _, choice := range a["choices"].([]any) {
					list = append(list, choice.(object)["message"].(object)["content"].(string))
				}
				return list
			},
			"/v1/completions": func(a object) (list []string) {
				for _, choice := range a["choices"].([]any) {
					list = append(list, choice.(object)["text"].(string))
				}
				return list
			},
		} {
			a := post(t, s, path, merge(merge(bases[path], limit), c.fields))
			for _, text := range texts(a) {
				if !c.want(text) {
					t.Errorf("%s with %v: %q", path, c.fields, text)
				}
			}
		}
		native := merge(object{"max_new_tokens": 200}, c.fields)
		if least, has := native["min_tokens"]; has {
			native["min_new_tokens"] = least
			delete(native, "min_tokens")
		}
		a := post(t, s, "/generate", object{"text": "Once", "sampling_params": native})
		if text := a["text"].(string); !c.want(text) {
			t.Errorf("/generate with %v: %q", c.fields, text)
		}
	}
	for _, fields := range []object{{"response_format": object{"type": "json_object"}}, {"format": "json"}, {"structured_outputs": object{"json_object": true}}} {
		a := post(t, s, "/v1/completions", merge(object{"prompt": "Once", "max_tokens": 3}, fields))
		if text := at(t, a, "choices", 0, "text").(string); !strings.HasPrefix(text, "{") {
			t.Errorf("with %v: %q", fields, text)
		}
	}
	for _, fields := range []object{{"response_format": object{"type": "text"}}, {"grammar": ""}, {"format": ""}, {"regex": nil}, {"structured_outputs": nil}, {"json_schema": nil}, {"guided_json": nil}} {
		plain := post(t, s, "/v1/completions", object{"prompt": "Once", "max_tokens": 9, "seed": 4})
		a := post(t, s, "/v1/completions", merge(object{"prompt": "Once", "max_tokens": 9, "seed": 4}, fields))
		if got := at(t, a, "choices", 0, "text"); got != at(t, plain, "choices", 0, "text") {
			t.Errorf("%v changes the answer to %q", fields, got)
		}
	}
}

// What cannot be used is refused with the parameter, the place and the remedy.
func TestFaultyGrammars(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	schema := func(text string) object {
		return object{"response_format": object{"type": "json_schema", "json_schema": object{"schema": rawJSON(text)}}}
	}
	const ofSchema = "response_format.json_schema.schema"
	cases := map[string]badBody{}
	add := func(name string, fields object, param, message string) {
		cases[name] = badBody{merge(bases["/v1/completions"], fields), http.StatusBadRequest, param, nil, message}
	}
	faulty := func(name string, fields object, param, message string) {
		cases[name] = badBody{merge(bases["/v1/completions"], fields), http.StatusBadRequest, param, "invalid_grammar", message}
	}
	add("two constraints", object{"regex": "a", "ebnf": `root ::= "a"`}, "ebnf", "regex and ebnf both constrain the output; send one of them")
	add("an unknown type", object{"response_format": object{"type": "xml"}}, "response_format.type", `"xml"; it must be text, json_object, json_schema or structural_tag`)
	add("no type", object{"response_format": object{}}, "response_format.type", "response_format has no type")
	add("an empty constraint", object{"regex": ""}, "regex", "regex is empty; leave it out")
	add("no constraint", object{"structured_outputs": object{}}, "structured_outputs", "has no constraint; send json")
	cases["an unknown member"] = badBody{merge(bases["/v1/completions"], object{"structured_outputs": object{"regx": "a"}}), 400, "structured_outputs.regx", "unknown_parameter", "did you mean regex?"}
	cases["an unknown member of a schema's object"] = badBody{merge(bases["/v1/completions"], object{"response_format": object{"type": "json_schema", "json_schema": object{"schem": object{}}}}), 400, "response_format.json_schema.schem", "unknown_parameter", "did you mean schema?"}
	cases["white space by a pattern"] = badBody{merge(bases["/v1/completions"], object{"structured_outputs": object{"regex": "a", "whitespace_pattern": " "}}), 400, "structured_outputs.whitespace_pattern", "unsupported_parameter", "leave it out"}
	add("no schema", object{"response_format": object{"type": "json_schema"}}, "response_format.json_schema", "no schema; send")
	add("a schema beside text", object{"response_format": object{"type": "text", "json_schema": object{"schema": object{}}}}, "response_format.json_schema", "which the type text does not have")
	add("a string of no format", object{"format": "xml"}, "format", `it must be "json", or a JSON schema as an object`)
	add("a number in place of a string", object{"regex": 5}, "regex", "a string")
	faulty("a class that is open", object{"regex": "[a"}, "regex", "regex cannot be used")
	faulty("counts of counts", object{"regex": "((a{1,1000}){1,1000}){1,1000}"}, "regex", "regex cannot be used")
	faulty("no choice", object{"guided_choice": list{}}, "guided_choice", "at least one string")
	faulty("choices that are no strings", object{"guided_choice": list{1}}, "guided_choice", "array of strings")
	faulty("a grammar without words", object{"grammar": `root ::= root "a"`}, "grammar", "no text satisfies the grammar")
	faulty("a missing rule", object{"ebnf": `root ::= nobody`}, "ebnf", "nobody")
	faulty("no schema at all", schema(`5`), ofSchema, "cannot be used")
	faulty("a remote reference", schema(`{"properties": {"a": {"$ref": "https://example.com/x"}}}`), ofSchema, "at /properties/a")
	faulty("references in a circle", schema(`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`), ofSchema, "cannot be used")
	faulty("a schema that nothing satisfies", schema(`{"type": "integer", "minimum": 3, "maximum": 2}`), ofSchema, "no")
	faulty("an unknown format", object{"structural_tag": object{"format": object{"type": "sonnet"}}}, "structural_tag", "sonnet")
	refuse(t, s, "/v1/completions", cases)
	deep := strings.Repeat(`{"items":`, 10000) + "{}" + strings.Repeat("}", 10000)
	a := send(t, s, "POST", "/v1/completions", fmt.Sprintf(`{"prompt": "a", "json_schema": %s}`, deep))
	if e := errorOf(t, a); a.status != http.StatusBadRequest || !strings.Contains(e["message"].(string), "levels deep") {
		t.Errorf("10,000 levels: %d %v", a.status, e)
	}
	a = send(t, s, "POST", "/v1/completions", object{"prompt": "a", "n": 20, "regex": strings.Repeat("a", 900<<10)})
	if e := errorOf(t, a); a.status != http.StatusBadRequest || e["param"] != "regex" || !strings.Contains(e["message"].(string), "20 choices") {
		t.Errorf("a long grammar for many choices: %d %v", a.status, e)
	}
	a = send(t, s, "POST", "/v1/completions", object{"prompt": "a", "regex": strings.Repeat("a", 4<<20+1)})
	if e := errorOf(t, a); a.status != http.StatusBadRequest {
		t.Errorf("a regular expression of 4 MiB: %d %v", a.status, e)
	}
}

// slow compiles once it may.
type slow struct {
	httpapi.Grammars
	may     chan struct{}
	waiting chan struct{}
}

func (s slow) Kept(grammar.Source) (g *grammar.Grammar, err error, kept bool) { return nil, nil, false }

func (s slow) Get(ctx context.Context, src grammar.Source) (*grammar.Grammar, error) {
	s.waiting <- struct{}{}
	<-s.may
	return s.Grammars.Get(ctx, src)
}

// While grammars are compiled, other requests are served. The compilations of one client are bounded.
func TestCompilationsDelayNobodyElse(t *testing.T) {
	held := slow{may: make(chan struct{}), waiting: make(chan struct{}, 100)}
	s := testserver.Start(t, testserver.Options{Grammars: func(of httpapi.Grammars) httpapi.Grammars {
		held.Grammars = of
		return held
	}})
	body := object{"prompt": "Once", "max_tokens": 3, "regex": "yes|no"}
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- send(t, s, "POST", "/v1/completions", body) }()
	}
	for range cap(answers) {
		<-held.waiting
	}
	if a := send(t, s, "POST", "/v1/completions", object{"prompt": "Once", "max_tokens": 3}); a.status != http.StatusOK {
		t.Errorf("a request without a grammar: %d %s", a.status, a.body)
	}
	a := send(t, s, "POST", "/v1/completions", body)
	if e := errorOf(t, a); a.status != http.StatusTooManyRequests || e["param"] != "regex" || a.header.Get("Retry-After") == "" || !strings.Contains(e["message"].(string), "too many grammars of this client") {
		t.Errorf("the ninth: %d %v", a.status, e)
	}
	close(held.may)
	for range cap(answers) {
		if a := <-answers; a.status != http.StatusOK {
			t.Errorf("one that waited: %d %s", a.status, a.body)
		}
	}
}
