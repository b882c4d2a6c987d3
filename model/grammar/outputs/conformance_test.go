package outputs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
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
	Partial             bool
}

// exceptions are outputs that are read as their authors expect and that the grammar does not allow, by line,
// with the reason.
var exceptions = map[int]string{
	2396: "a special token in thoughts", 4171: "a special token in thoughts",
	4015: "the first call has no end",
	4997: "a message to somebody who is no tool", 5006: "a message to somebody who is no tool",
	5017: "a header with two channels",
}

// TestConformanceRealOutputs checks that outputs of real models are allowed. Those that are cut, or that continue
// a message, are no whole outputs; nor are those whose calls the parser does not read.
func TestConformanceRealOutputs(t *testing.T) {
	dir := conformance.Path(t, "chat_outputs")
	formats := map[string]output.Format{}
	accepted, total, seen := 0, 0, map[int]bool{}
	for _, c := range conformance.Lines[outputCase](t, filepath.Join(dir, "cases.jsonl")) {
		if c.Partial || c.Continue != "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(dir, "..", "chat_templates", "templates", c.Template))
		if err != nil {
			t.Fatal(err)
		}
		template, err := chat.Parse(c.Template, string(source))
		if err != nil {
			t.Fatal(err)
		}
		f, ok := formats[c.Template]
		if !ok {
			f = output.Detect(context.Background(), template, output.DetectOptions{BOS: "<BOS>", EOS: "<EOS>"})
			formats[c.Template] = f
		}
		s := c.spec(t, f, template)
		total++
		g, err := grammar.Compile(sourceOf(t, s), newVocabulary(t, f, true), grammar.Limits{})
		if err != nil {
			t.Errorf("line %d, %s: %v", c.Line, f.Name, err)
			continue
		}
		r := newReader(t, s)
		r.options.KeepReasoning = c.ReasoningFormat == "none"
		m, wrong := r.read(c.Input)
		ok, upto := accepts(g, c.Input)
		if ok {
			accepted++
		}
		reason := exceptions[c.Line]
		seen[c.Line] = true
		if ok == (reason != "") {
			t.Errorf("line %d, %s (%s), opened %q: accepted %v, exception %q, up to %q of %q, read as %+v, %v", c.Line, c.Template, f.Name, s.Opened, ok, reason, upto, c.Input, m, wrong)
		}
	}
	t.Logf("%d of %d outputs are allowed", accepted, total)
	for line := range exceptions {
		if !seen[line] {
			t.Errorf("line %d is no case", line)
		}
	}
}

// spec is the request of a case, as tools that are not strict.
func (c *outputCase) spec(t *testing.T, f output.Format, template *chat.Template) outputs.Spec {
	t.Helper()
	s := outputs.Spec{Format: f}
	var tools []struct{ Function outputs.Tool }
	if c.Tools != nil {
		if err := json.Unmarshal(c.Tools, &tools); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range tools {
		s.Tools = append(s.Tools, tool.Function)
	}
	if f.Calls == nil && f.Messages == nil {
		s.Tools = nil
	}
	if !c.AddGenerationPrompt {
		return s
	}
	messages, err := chat.DecodeJSON(c.Messages)
	if err != nil {
		t.Fatal(err)
	}
	in := chat.Input{Messages: f.History.Prepare(messages), AddGenerationPrompt: true, BOS: "<BOS>", EOS: "<EOS>",
		Now: time.Unix(1, 0), Extra: map[string]any{"enable_thinking": c.EnableThinking}}
	if len(c.Tools) > 2 && string(c.Tools) != "null" {
		in.Tools = c.Tools
	}
	if template.HasVariable("functions") {
		in.Extra["functions"], in.Extra["datetime"] = string(c.Tools), "now"
	}
	prompt, err := template.Render(context.Background(), in)
	if err != nil {
		t.Logf("line %d: %v", c.Line, err)
	}
	s.Opened = f.Opened(prompt)
	if f.Messages != nil && strings.HasSuffix(prompt, "<|start|>") {
		t.Logf("line %d: the prompt ends before the role", c.Line)
	}
	return s
}
