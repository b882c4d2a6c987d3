package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// dialogue is a chat template of a format, and what a model of it says.
type dialogue struct {
	template string
	// called and said are the output with calls, and the answer after their results.
	called, said string
}

// turns is what the templates of these tests have in common: roles between marks.
const turns = `{%- for m in messages %}
{{- "<" + m.role + ">" }}
{%- if m.role == "assistant" %}
{%- if m.reasoning_content %}{{ "<think>\n" + m.reasoning_content + "\n</think>\n\n" }}{% endif %}
{{- m.content }}
{%- if m.tool_calls %}CALLS{% endif %}
{{- "<|end|>" }}
{%- else %}{{ m.content + "</" + m.role + ">" }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<assistant>" }}{% endif %}`

func templateOf(calls string) string {
	return `{%- if tools %}{{ "Tools:" }}{% for t in tools %}{{ t | tojson }}{% endfor %}{% endif %}` + strings.Replace(turns, "CALLS", calls, 1)
}

var dialogues = map[string]dialogue{
	"hermes": {
		template: templateOf(`{% for c in m.tool_calls %}{{ "\n<tool_call>\n" + ({"name": c.function.name, "arguments": c.function.arguments} | tojson) + "\n</tool_call>" }}{% endfor %}`),
		called:   "<think>\nIt wants the weather.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>",
		said:     "<think>\nGood.\n</think>\n\nIt rains.",
	},
}

var weatherTools = list{
	object{"type": "function", "function": object{"name": "weather", "description": "The weather.", "parameters": object{"type": "object",
		"properties": object{"city": object{"type": "string"}, "days": object{"type": "integer"}}, "required": list{"city"}}}},
	object{"type": "function", "function": object{"name": "time", "description": "The time.", "parameters": object{"type": "object", "properties": object{}}}},
}

var question = object{"role": "user", "content": "What is the weather in Oslo?"}

func scriptOf(d dialogue) func(string) string {
	return func(prompt string) string {
		switch {
		case strings.Contains(prompt, "<tool>"):
			return d.said
		case strings.Contains(prompt, "Tools:"):
			return d.called
		}
		return "No tools."
	}
}

func TestToolDialogue(t *testing.T) {
	for name, d := range dialogues {
		t.Run(name, func(t *testing.T) {
			s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: d.template, Script: scriptOf(d), Grammars: func(httpapi.Grammars) httpapi.Grammars { return nil }})
			body := object{"messages": list{question}, "tools": weatherTools, "max_tokens": 300}
			got := post(t, s, "/v1/chat/completions", body)
			text, _ := json.MarshalIndent(got, "", "  ")
			t.Logf("%s", text)
			for _, c := range chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true})) {
				text, _ := json.Marshal(c["choices"])
				t.Logf("%s", text)
			}
		})
	}
}
