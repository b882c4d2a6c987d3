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
	bodies := map[place][]reflect.Type{
		inChat: {reflect.TypeFor[chatRequest]()}, inCompletions: {reflect.TypeFor[completionRequest]()},
		inGenerate: {reflect.TypeFor[gatewayRequest]()}, inSampling: {reflect.TypeFor[nativeSampling]()},
	}
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
				for _, body := range bodies[at] {
					if _, has := fieldsOf(body)[name]; has {
						t.Errorf("%s is in the table and a field of %s", name, body)
					}
				}
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
			_, otherwise, _ = strings.Cut(f.refusal("x").Message, "not supported; ")
			otherwise = "refused: " + otherwise
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

// Every way to switch thinking on and off reaches a template that has it.
func TestThinking(t *testing.T) {
	with := func(t *testing.T, body string) (*chatRequest, *leftovers) {
		t.Helper()
		req, left := new(chatRequest), &leftovers{at: inChat}
		if err := unmarshal(t.Context(), []byte(body), req, left); err != nil {
			t.Fatal(err)
		}
		return req, left
	}
	for body, want := range map[string]struct {
		template string
		args     map[string]any
		ignored  []string
	}{
		`{"reasoning_effort": "low"}`:                                             {"{{ reasoning_effort }}", map[string]any{"reasoning_effort": "low"}, nil},
		`{"reasoning_effort": "none"}`:                                            {"{{ enable_thinking }}", map[string]any{"enable_thinking": false}, nil},
		`{"reasoning_effort": "high"}`:                                            {"{{ enable_thinking }}", map[string]any{"enable_thinking": true}, nil},
		`{"reasoning_effort": "high", "think": true}`:                             {"{{ messages }}", map[string]any{}, []string{"reasoning_effort", "think"}},
		`{"think": false}`:                                                        {"{{ enable_thinking }}", map[string]any{"enable_thinking": false}, nil},
		`{"enable_thinking": true}`:                                               {"{{ not_enable_thinking }}", map[string]any{}, []string{"enable_thinking"}},
		`{"thinking": {"type": "disabled"}}`:                                      {"{{ enable_thinking }}", map[string]any{"enable_thinking": false}, nil},
		`{"think": true, "chat_template_kwargs": {"enable_thinking": false}}`:     {"{{ enable_thinking }}", map[string]any{"enable_thinking": false}, nil},
		`{"reasoning_effort": "none", "enable_thinking": true, "thinking": null}`: {"{{ enable_thinking }}", map[string]any{"enable_thinking": true}, []string{"reasoning_effort"}},
	} {
		req, _ := with(t, body)
		m := &Model{Template: mustParse(t, want.template)}
		args, ignored, err := req.templateArgs(m)
		if err != nil || !reflect.DeepEqual(args, want.args) || !slices.Equal(ignored, want.ignored) {
			t.Errorf("%s: %v, ignored %q, error %v; want %v and %q", body, args, ignored, err, want.args, want.ignored)
		}
	}
	for _, body := range []string{`{"think": true, "enable_thinking": false}`, `{"thinking": {"type": "perhaps"}}`} {
		req, _ := with(t, body)
		if _, _, err := req.templateArgs(&Model{}); err == nil {
			t.Errorf("%s is accepted", body)
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
