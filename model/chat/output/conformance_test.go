package output

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// outputCase is a line of cases.jsonl.
type outputCase struct {
	Line                int
	Template, Input     string
	Tools, Messages     json.RawMessage
	ReasoningFormat     string `json:"reasoning_format"`
	EnableThinking      bool   `json:"enable_thinking"`
	AddGenerationPrompt bool   `json:"add_generation_prompt"`
	Continue            string `json:"continue_final_message"`
	Partial, Rerender   bool
	Expect              expected
}

type expected struct {
	Content   string
	Reasoning string         `json:"reasoning_content"`
	Calls     []expectedCall `json:"tool_calls"`
}

type expectedCall struct {
	Name      string
	ID        string
	Arguments arguments
}

// arguments are JSON, or a JSON string that holds JSON.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(a)) != nil {
		*a = arguments(data)
	}
	return nil
}

// testTemplate is a template with its format.
type testTemplate struct {
	t *chat.Template
	f Format
}

func readTemplates(t *testing.T, dir string) map[string]testTemplate {
	files, err := filepath.Glob(filepath.Join(dir, "templates", "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	templates := map[string]testTemplate{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := chat.Parse(filepath.Base(file), string(src))
		if err != nil {
			t.Fatal(err)
		}
		templates[filepath.Base(file)] = testTemplate{tmpl, Detect(context.Background(), tmpl, DetectOptions{BOS: "<BOS>", EOS: "<EOS>"})}
	}
	return templates
}

// render makes the prompt of a case, of its messages and further ones in JSON.
func (c *outputCase) render(t *testing.T, tt testTemplate, generate bool, further string) string {
	t.Helper()
	messages := string(c.Messages)
	if further != "" {
		messages = strings.TrimSuffix(messages, "]") + "," + further + "]"
	}
	decoded, err := chat.DecodeJSON([]byte(messages))
	if err != nil {
		t.Fatal(err)
	}
	in := chat.Input{Messages: tt.f.History.Prepare(decoded), AddGenerationPrompt: generate, BOS: "<BOS>", EOS: "<EOS>",
		Now: time.Unix(1, 0), Extra: map[string]any{"enable_thinking": c.EnableThinking}}
	if len(c.Tools) > 2 && string(c.Tools) != "null" {
		in.Tools = c.Tools
	}
	if tt.t.HasVariable("functions") {
		in.Extra["functions"], in.Extra["datetime"] = string(c.Tools), "now"
	}
	text, err := tt.t.Render(context.Background(), in)
	if err != nil {
		t.Logf("line %d, %s: %v", c.Line, c.Template, err)
	}
	return text
}

func (c *outputCase) options(t *testing.T, tt testTemplate) (o Options, was expected) {
	var tools []struct{ Function Tool }
	if c.Tools != nil {
		if err := json.Unmarshal(c.Tools, &tools); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range tools {
		o.Tools = append(o.Tools, tool.Function)
	}
	o.KeepReasoning = c.ReasoningFormat == "none"
	switch c.Continue {
	case "":
		if c.AddGenerationPrompt {
			o.Opened = tt.f.Opened(c.render(t, tt, true, ""))
		}
		return o, was
	case "reasoning":
		o.Begin = InReasoning
	default:
		o.Begin = InContent
	}
	var messages []expected
	if err := json.Unmarshal(c.Messages, &messages); err != nil {
		t.Fatal(err)
	}
	was = messages[len(messages)-1]
	if tt.f.Reasoning.Close == "" && tt.f.Messages == nil {
		was.Reasoning = ""
	}
	return o, was
}

// sameCalls compares calls; arguments count as JSON values, or as texts if they are cut.
func sameCalls(got []ToolCall, want []expectedCall, cut bool) bool {
	if len(got) != len(want) {
		return false
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || w.ID != "" && g.ID != w.ID {
			return false
		}
		text := string(w.Arguments)
		if cut && text != g.Arguments || !cut && !sameJSON(text, g.Arguments) {
			return false
		}
	}
	return true
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// TestConformanceChatOutputs compares the parts of real outputs with those of llama.cpp. The
// differences that are meant are in testdata/differences.json.
func TestConformanceChatOutputs(t *testing.T) {
	dir := conformance.Path(t, "chat_outputs")
	templates := readTemplates(t, filepath.Join(dir, "..", "chat_templates"))
	differences := readDifferences(t)
	good, total, rerendered, rerenders := 0, 0, 0, 0
	for _, c := range conformance.Lines[outputCase](t, filepath.Join(dir, "cases.jsonl")) {
		tt := templates[c.Template]
		total++
		o, was := c.options(t, tt)
		m := Read(&tt.f, o, c.Input, c.Partial)
		m.Content, m.Reasoning = was.Content+m.Content, was.Reasoning+m.Reasoning
		same := m.Content == c.Expect.Content && m.Reasoning == c.Expect.Reasoning && sameCalls(m.Calls, c.Expect.Calls, c.Partial)
		if same {
			good++
		}
		if meant := differences.has(&c, "parts"); same == meant {
			t.Errorf("line %d, %s (%s), opened %q, listed as different: %v, %q:\n got %+v\nwant %+v",
				c.Line, c.Template, tt.f.Name, o.Opened, meant, c.Input, m, c.Expect)
		}
		if c.Rerender {
			rerenders++
			prompt := c.render(t, tt, true, "")
			got := c.render(t, tt, false, c.message(t, m))
			same := strings.HasPrefix(got, prompt+c.Input)
			if same {
				rerendered++
			}
			if meant := differences.has(&c, "rerender"); same == meant {
				t.Errorf("line %d, %s, rendered again, listed as different: %v:\n got %q\nwant %q", c.Line, c.Template, meant, got, prompt+c.Input)
			}
		}
		c.checkCuts(t, tt, o)
	}
	t.Logf("%d of %d outputs, %d of %d rerendered", good, total, rerendered, rerenders)
	if total == 0 || good*100 < total*95 {
		t.Errorf("only %d of %d outputs are read as llama.cpp does", good, total)
	}
}

// difference is a case in which the parser means to differ.
type difference struct {
	Line             int
	Template         string
	What, Difference string
}

type differenceList []difference

func readDifferences(t *testing.T) (list differenceList) {
	data, err := os.ReadFile(filepath.Join("testdata", "differences.json"))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (l differenceList) has(c *outputCase, what string) bool {
	return slices.ContainsFunc(l, func(d difference) bool {
		return d.Line == c.Line && d.Template == c.Template && d.What == what
	})
}

// message is a parsed output as a client sends it back.
func (c *outputCase) message(t *testing.T, m Message) string {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	message := struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content,omitempty"`
		Calls     []call `json:"tool_calls,omitempty"`
	}{"assistant", m.Content, m.Reasoning, nil}
	for _, one := range m.Calls {
		id := one.ID
		if id == "" {
			id = "123456789"
		}
		message.Calls = append(message.Calls, call{id, "function", function{one.Name, one.Arguments}})
	}
	further, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(further)
}

// checkCuts cuts an output at every byte, and into single bytes.
func (c *outputCase) checkCuts(t *testing.T, tt testTemplate, o Options) {
	want := Read(&tt.f, o, c.Input, c.Partial)
	for at := range len(c.Input) {
		if got := readCut(&tt.f, o, c.Partial, c.Input[:at], c.Input[at:]); !reflect.DeepEqual(got, want) {
			t.Errorf("line %d cut at %d:\n got %+v\nwant %+v", c.Line, at, got, want)
			return
		}
	}
	if got := readCut(&tt.f, o, c.Partial, strings.Split(c.Input, "")...); !reflect.DeepEqual(got, want) {
		t.Errorf("line %d in characters:\n got %+v\nwant %+v", c.Line, got, want)
	}
}

func readCut(f *Format, o Options, cut bool, pieces ...string) Message {
	var c Collector
	p := NewParser(f, o)
	for _, piece := range pieces {
		c.Add(p.Push(piece))
	}
	c.Add(p.Finish(cut))
	return c.Message()
}

// TestConformanceFormats reads the formats as their makers document them, by the parsers' names.
func TestConformanceFormats(t *testing.T) {
	dir := conformance.Path(t, "chat_outputs")
	type line struct {
		Format, Output string
		Tools          []struct{ Function Tool }
		Calls          []expectedCall `json:"tool_calls"`
	}
	good, total := 0, 0
	for _, c := range conformance.Lines[line](t, filepath.Join(dir, "formats.jsonl")) {
		total++
		name := c.Format
		if name == "qwen3-coder-xml" {
			name = "qwen3-coder"
		}
		f, err := Named(Format{}, name, "")
		if err != nil {
			t.Error(err)
			continue
		}
		var o Options
		for _, tool := range c.Tools {
			o.Tools = append(o.Tools, tool.Function)
		}
		m := Read(&f, o, c.Output, false)
		want := ""
		if len(c.Calls) == 0 {
			want = c.Output
		} else if before, _, ok := strings.Cut(c.Output, "<tool_call>"); ok {
			want = before
		}
		if m.Content != want || !sameCalls(m.Calls, c.Calls, false) {
			t.Errorf("%s, %q:\n got %+v\nwant %+v", c.Format, c.Output, m, c.Calls)
			continue
		}
		good++
	}
	t.Logf("%d of %d formats", good, total)
}

// What a template writes for calls with arguments of every type, its format reads back.
func TestConformanceReadsBack(t *testing.T) {
	dir := conformance.Path(t, "chat_templates")
	arguments := []string{`{"city": "a \"q\" <b> é 世\nx", "days": -7, "exact": true, "tags": ["a", 1, null, {"k": "v"}], "more": {"x": {"y": [1.5]}}}`, `{"city": "Rome"}`}
	written := 0
	for name, tt := range readTemplates(t, dir) {
		for n := range len(arguments) {
			for _, content := range []string{`""`, "null"} {
				text, o, ok := tt.writeCalls(t, content, arguments[n:])
				if !ok {
					continue
				}
				written++
				m := Read(&tt.f, o, text, false)
				same := len(m.Calls) == len(arguments)-n
				for i := 0; same && i < len(m.Calls); i++ {
					same = sameJSON(m.Calls[i].Arguments, arguments[n+i])
				}
				if !same {
					t.Errorf("%s (%s), %q:\n%s", name, tt.f.Name, text, show(m))
				}
			}
		}
	}
	if t.Logf("%d texts with calls", written); written < 120 {
		t.Errorf("only %d texts have calls", written)
	}
}

// writeCalls lets the template write calls. It reports false if the template refuses them, or leaves
// some out.
func (tt *testTemplate) writeCalls(t *testing.T, content string, arguments []string) (text string, o Options, ok bool) {
	const question = `{"role":"user","content":"QUESTION"}`
	var calls []string
	for i, a := range arguments {
		calls = append(calls, fmt.Sprintf(`{"id":"abcdefgh%d","type":"function","function":{"name":"weather","arguments":%s}}`, i, a))
	}
	var tools any = []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "weather", "description": "d", "parameters": ownTools[0].Parameters}}}
	render := func(generate bool, further string) string {
		v, err := chat.DecodeJSON([]byte("[" + question + further + "]"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := tt.t.Render(context.Background(), chat.Input{Messages: tt.f.History.Prepare(v), Tools: tools,
			AddGenerationPrompt: generate, Now: time.Unix(1, 0)})
		if err != nil {
			return "" // the template refuses it
		}
		return text
	}
	full := render(false, `,{"role":"assistant","content":`+content+`,"tool_calls":[`+strings.Join(calls, ",")+`]}`)
	prompt := render(true, "")
	o.Tools = ownTools
	text, exact := strings.CutPrefix(full, prompt)
	if exact {
		o.Opened = tt.f.Opened(prompt)
	} else {
		text = text[strings.LastIndex(text, "QUESTION")+1:]
	}
	return text, o, full != "" && prompt != "" && strings.Count(text, "weather") == len(arguments)
}
