package httpapi_test

import "strings"

// dialogue is a chat template of a format, and what a model of it says.
type dialogue struct {
	template string
	called   string // with calls of tools
	said     string // after their results
	// What called has; reasoning is "" in formats without thoughts.
	reasoning, content string
}

// templateOf is a template that writes calls as calls says, and thoughts between marks.
func templateOf(calls string) string {
	const turns = `{%- if tools %}{{ "<|user|>Tools:" }}{% for t in tools %}{{ t | tojson }}{% endfor %}{{ "<|end|>" }}{% endif %}
{%- for m in messages %}
{%- if m.role == "assistant" %}
{{- "<|assistant|>" }}
{%- if m.reasoning_content %}{{ "<think>\n" + m.reasoning_content + "\n</think>\n\n" }}{% endif %}
{{- m.content }}
{%- if m.tool_calls %}CALLS{% endif %}
{{- "<|end|>" }}
{%- else %}{{ "<|user|>" }}{% if m.role == "tool" %}{{ "Result: " }}{% endif %}{{ m.content + "<|end|>" }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<|assistant|>" }}{% endif %}`
	return strings.Replace(turns, "CALLS", calls, 1)
}

const thoughts = "<think>\nIt wants the weather.\n</think>\n\n"

// dialogues are by the name of the format that is found in the template. Every model calls
// weather with {"city": "Oslo", "days": 3} and then time without arguments.
var dialogues = map[string]dialogue{
	"hermes": {
		template: templateOf(`{% for c in m.tool_calls %}{{ "\n<tool_call>\n" + ({"name": c.function.name, "arguments": c.function.arguments} | tojson) + "\n</tool_call>" }}{% endfor %}`),
		called:   thoughts + "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>",
		said:     "<think>\nGood.\n</think>\n\nIt rains.", reasoning: "It wants the weather.", content: "I look.",
	},
	"qwen3-coder": {
		template: templateOf(`{% for c in m.tool_calls %}{{ "\n<tool_call>\n<function=" + c.function.name + ">\n" }}{% for k, v in c.function.arguments.items() %}{{ "<parameter=" + k + ">\n" }}{{ v }}{{ "\n</parameter>\n" }}{% endfor %}{{ "</function>\n</tool_call>" }}{% endfor %}`),
		called:   "I look.\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=time>\n</function>\n</tool_call>",
		said:     "It rains.", content: "I look.",
	},
	"glm-4.5": {
		template: templateOf(`{% for c in m.tool_calls %}{{ "\n<tool_call>" + c.function.name + "\n" }}{% for k, v in c.function.arguments.items() %}{{ "<arg_key>" + k + "</arg_key>\n<arg_value>" }}{{ v }}{{ "</arg_value>\n" }}{% endfor %}{{ "</tool_call>" }}{% endfor %}`),
		called:   thoughts + "\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>time\n</tool_call>",
		said:     "It rains.", reasoning: "It wants the weather.",
	},
	"deepseek-v3.1": {
		template: templateOf(`{{ "<｜tool▁calls▁begin｜>" }}{% for c in m.tool_calls %}{{ "<｜tool▁call▁begin｜>" + c.function.name + "<｜tool▁sep｜>" + (c.function.arguments | tojson) + "<｜tool▁call▁end｜>" }}{% endfor %}{{ "<｜tool▁calls▁end｜>" }}`),
		called:   thoughts + "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Oslo\", \"days\": 3}<｜tool▁call▁end｜><｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		said:     "It rains.", reasoning: "It wants the weather.",
	},
	"kimi-k2": {
		template: templateOf(`{{ "<|tool_calls_section_begin|>" }}{% for c in m.tool_calls %}{{ "<|tool_call_begin|>" + c.id + "<|tool_call_argument_begin|>" + (c.function.arguments | tojson) + "<|tool_call_end|>" }}{% endfor %}{{ "<|tool_calls_section_end|>" }}`),
		called:   "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\", \"days\": 3}<|tool_call_end|><|tool_call_begin|>functions.time:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
		said:     "It rains.", content: "I look.",
	},
	"mistral": {
		template: templateOf(`{{ "[TOOL_CALLS][" }}{% for c in m.tool_calls %}{{ ({"name": c.function.name, "arguments": c.function.arguments} | tojson) }}{% if not loop.last %}{{ ", " }}{% endif %}{% endfor %}{{ "]" }}`),
		called:   "[TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}, {\"name\": \"time\", \"arguments\": {}}]",
		said:     "It rains.",
	},
	"llama-3": {
		template: templateOf(`{% for c in m.tool_calls %}{{ ({"name": c.function.name, "parameters": c.function.arguments} | tojson) }}{% if not loop.last %}{{ "; " }}{% endif %}{% endfor %}`),
		called:   "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 3}}; {\"name\": \"time\", \"parameters\": {}}",
		said:     "It rains.",
	},
	"pythonic": {
		template: templateOf(`{{ "[" }}{% for c in m.tool_calls %}{{ c.function.name + "(" }}{% for k, v in c.function.arguments.items() %}{{ k + "=" + (v | tojson) }}{% if not loop.last %}{{ ", " }}{% endif %}{% endfor %}{{ ")" }}{% if not loop.last %}{{ ", " }}{% endif %}{% endfor %}{{ "]" }}`),
		called:   "[weather(city=\"Oslo\", days=3), time()]",
		said:     "It rains.",
	},
}

var weatherTools = list{
	object{"type": "function", "function": object{"name": "weather", "description": "The weather.", "parameters": object{"type": "object",
		"properties": object{"city": object{"type": "string"}, "days": object{"type": "integer"}}, "required": list{"city"}}}},
	object{"type": "function", "function": object{"name": "time", "description": "The time.", "parameters": object{"type": "object", "properties": object{}}}},
}

var question = object{"role": "user", "content": "What is the weather in Oslo?"}

// says is what a model says: calls, if there are tools and no results of them.
func (d dialogue) says(prompt string) string {
	switch {
	case strings.Contains(prompt, "Result: "):
		return d.said
	case strings.Contains(prompt, "Tools:"):
		return d.called
	}
	return "No tools."
}
