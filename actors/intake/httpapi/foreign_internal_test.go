package httpapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/chat"
)

// A parameter has one fate at a place, and one that has an effect is not in the table.
func TestTheTableIsConsistent(t *testing.T) {
	seen := map[string]bool{}
	for i := range foreignFields {
		f := &foreignFields[i]
		for _, neutral := range strings.Fields(f.neutral) {
			if neutral != advice && (!json.Valid([]byte(neutral)) || !f.accepts([]byte(neutral))) {
				t.Errorf("%s: the neutral value %s is not JSON without spaces", f.names, neutral)
			}
		}
		for at := inChat; at <= inStreamOptions; at <<= 1 {
			for name := range strings.FieldsSeq(f.names) {
				if f.at&at == 0 {
					continue
				}
				if key := fmt.Sprint(at, name); seen[key] {
					t.Errorf("%s is twice in the table for place %d", name, at)
				} else {
					seen[key] = true
				}
				if body := generatingBodies[at]; body != nil {
					if _, has := fieldsOf(body)[name]; has {
						t.Errorf("%s is in the table and a field of %s", name, body)
					}
				}
			}
		}
	}
}

// At every place, each name that the API knows is a field, refused, or named as ignored
// because it changes nothing there. A limit of the output is never dropped.
func TestNoKnownNameIsDropped(t *testing.T) {
	names := map[string]bool{}
	for _, body := range generatingBodies {
		for name := range fieldsOf(body) {
			names[name] = true
		}
	}
	for _, table := range foreignTable() {
		for name := range table {
			names[name] = true
		}
	}
	delete(names, "include_obfuscation") // which only streams have
	delete(names, "continuous_usage_stats")
	for at, body := range generatingBodies {
		l, prefix := &leftovers{at: at}, ""
		if at == inSampling {
			l.at, prefix = inGenerate, "sampling_params."
		}
		for name := range names {
			if _, has := fieldsOf(body)[name]; has {
				continue
			}
			known := foreignTable()[at][name]
			l.refused, l.ignored = nil, nil
			l.take(prefix, name, []byte(`"such a value"`), body)
			free := inert[name] || known != nil && known.neutral == advice
			if refused := len(l.refused) == 1; refused == free || len(l.refused)+len(l.ignored) != 1 {
				t.Errorf("place %d: %s is refused: %v, ignored: %q", at, name, l.refused, l.ignored)
			}
			l.refused, l.ignored = nil, nil
			if l.take(prefix, name, []byte(`null`), body); len(l.refused)+len(l.ignored) > 0 {
				t.Errorf("place %d: %s: null", at, name)
			}
		}
	}
}

var rewrite = flag.Bool("rewrite-fields", false, "write the list of fields into docs/api.md")

const (
	fieldsBegin = "<!-- fields of other servers: written by go test ./actors/intake/httpapi -run TestFieldsAreDocumented -rewrite-fields -->\n"
	fieldsEnd   = "<!-- end of the fields -->\n"
)

// fieldTable is the table as Markdown.
func fieldTable() string {
	places := []struct {
		at   place
		name string
	}{{inChat, "chat"}, {inCompletions, "completions"}, {inGenerate, "`/generate`"}, {inSampling, "`sampling_params`"}, {inStreamOptions, "`stream_options`"}}
	var b strings.Builder
	b.WriteString("| field | where | accepted values | otherwise |\n|---|---|---|---|\n")
	for i := range foreignFields {
		f := &foreignFields[i]
		var where []string
		for _, p := range places {
			if f.at&p.at != 0 {
				where = append(where, p.name)
			}
		}
		if f.at == inAll {
			where = []string{"all"}
		}
		names := strings.Fields(f.names)
		for j := range names {
			names[j] = "`" + names[j] + "`"
		}
		values, otherwise := "any; no effect", ""
		if f.neutral != advice {
			values = "none"
			if neutral := strings.Fields(f.neutral); len(neutral) > 0 {
				values = "`" + strings.Join(neutral, "` `") + "`"
			}
			otherwise = "refused: " + f.instead()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.Join(names, ", "), strings.Join(where, ", "), values, otherwise)
	}
	return b.String()
}

// The list of fields with their fate is made from the code.
func TestFieldsAreDocumented(t *testing.T) {
	const file = "../../../docs/api.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), fieldsBegin)
	_, after, ended := strings.Cut(rest, fieldsEnd)
	if !found || !ended {
		t.Fatalf("%s lacks the lines %q and %q", file, fieldsBegin, fieldsEnd)
	}
	want := before + fieldsBegin + fieldTable() + fieldsEnd + after
	if want == string(text) {
		return
	}
	if !*rewrite {
		t.Fatalf("the list of fields in %s is old; run go test ./actors/intake/httpapi -run TestFieldsAreDocumented -rewrite-fields", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every way to switch thinking on and off reaches a template that has it. Other models are
// not concerned, whatever the values are.
func TestThinking(t *testing.T) {
	with := func(t *testing.T, body string) *chatRequest {
		t.Helper()
		req := new(chatRequest)
		if err := unmarshal(t.Context(), []byte(body), req, &leftovers{at: inChat}); err != nil {
			t.Fatal(err)
		}
		return req
	}
	type vars = map[string]any
	const levels, switches, deepseek, both = "{{ reasoning_effort }}", "{{ enable_thinking }}", "{% if thinking %}<think>{% endif %}", "{{ reasoning_effort }}{{ enable_thinking }}"
	for _, c := range []struct {
		body, template string
		args           vars
		ignored        []string
	}{
		{`{"reasoning_effort": "low"}`, levels, vars{"reasoning_effort": "low"}, nil},
		{`{"reasoning_effort": "none"}`, switches, vars{"enable_thinking": false}, nil},
		{`{"reasoning_effort": "high"}`, switches, vars{"enable_thinking": true}, nil},
		{`{"reasoning_effort": "high"}`, deepseek, vars{"thinking": true}, nil},
		{`{"reasoning_effort": "none"}`, both, vars{"reasoning_effort": "none", "enable_thinking": false}, nil},
		{`{"reasoning_effort": "low", "think": false}`, both, vars{"reasoning_effort": "low", "enable_thinking": false}, nil},
		{`{"reasoning_effort": "high", "think": true}`, "{{ messages }}", vars{}, []string{"reasoning_effort", "think"}},
		{`{"think": false}`, switches, vars{"enable_thinking": false}, nil},
		{`{"think": false}`, deepseek, vars{"thinking": false}, nil},
		{`{"think": true}`, "{{ thinking }}{{ enable_thinking }}", vars{"thinking": true, "enable_thinking": true}, nil},
		{`{"think": "low"}`, switches, vars{"enable_thinking": true}, nil},
		{`{"think": "none"}`, deepseek, vars{"thinking": false}, nil},
		{`{"think": "medium"}`, levels, vars{"reasoning_effort": "medium"}, nil},
		{`{"think": true}`, levels, vars{}, []string{"think"}},
		{`{"enable_thinking": true}`, "{{ not_enable_thinking }}", vars{}, []string{"enable_thinking"}},
		{`{"enable_thinking": true}`, "enable_thinking {# enable_thinking #}{{ 'enable_thinking' }}", vars{}, []string{"enable_thinking"}},
		{`{"thinking": true}`, "{{ messages[0].thinking }}{{ messages[0]['thinking'] }}{% set thinking = 1 %}", vars{}, []string{"thinking"}},
		{`{"thinking": {"type": "disabled"}}`, switches, vars{"enable_thinking": false}, nil},
		{`{"thinking": {"type": "enabled", "budget_tokens": 1000}}`, deepseek, vars{"thinking": true}, nil},
		{`{"thinking": true}`, switches, vars{"enable_thinking": true}, nil},
		{`{"thinking": {}}`, switches, vars{}, nil},
		{`{"think": true, "chat_template_kwargs": {"enable_thinking": false}}`, switches, vars{"enable_thinking": false}, nil},
		{`{"reasoning_effort": "none", "enable_thinking": true, "thinking": null}`, switches, vars{"enable_thinking": true}, []string{"reasoning_effort"}},
		// Without a variable, values of any type are fine.
		{`{"think": "low", "thinking": true, "reasoning_effort": 3, "enable_thinking": [[]]}`, "{{ messages }}", vars{}, []string{"reasoning_effort", "enable_thinking", "think", "thinking"}},
		{`{"think": true, "enable_thinking": false}`, "{{ messages }}", vars{}, []string{"enable_thinking", "think"}},
		{`{"enable_thinking": "perhaps", "reasoning_effort": "low"}`, levels, vars{"reasoning_effort": "low"}, []string{"enable_thinking"}},
	} {
		req := with(t, c.body)
		m := &Model{Template: mustParse(t, c.template)}
		args, ignored, err := req.templateArgs(m)
		if err != nil || !reflect.DeepEqual(args, c.args) || !slices.Equal(ignored, c.ignored) {
			t.Errorf("%s with %s: %v, ignored %q, error %v; want %v and %q", c.body, c.template, args, ignored, err, c.args, c.ignored)
		}
	}
	m := &Model{Template: mustParse(t, both)}
	for body, param := range map[string]string{
		`{"think": true, "enable_thinking": false}`: "think", `{"thinking": {"type": "perhaps"}}`: "thinking.type", `{"thinking": {"type": 3}}`: "thinking.type",
		`{"thinking": "on"}`: "thinking", `{"thinking": []}`: "thinking", `{"think": "perhaps"}`: "think", `{"think": 1}`: "think", `{"enable_thinking": "true"}`: "enable_thinking",
		`{"reasoning_effort": 3}`: "reasoning_effort", `{"reasoning_effort": "low", "think": "high"}`: "think",
		`{"thinking": {"type": "` + strings.Repeat("x", 5000) + `"}}`: "thinking",
	} {
		if _, _, err := with(t, body).templateArgs(m); err == nil || err.Param != param {
			t.Errorf("%.100s: %v, want an error about %s", body, err, param)
		}
	}
}

func mustParse(t *testing.T, source string) *chat.Template {
	t.Helper()
	template, err := chat.Parse("test", source)
	if err != nil {
		t.Fatal(err)
	}
	return template
}
