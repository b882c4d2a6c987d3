package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const outputTemplate = `{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}{{ '\n<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + (c.function.arguments | tojson) + '}\n</tool_call>' }}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking %}{{ '<think>\n' }}{% endif %}{% endif %}`

func templateFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "t.jinja")
	if err := os.WriteFile(file, []byte(outputTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestInspectOutput(t *testing.T) {
	file := templateFile(t)
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]`
	for _, c := range []struct{ line, want string }{
		{`{"output":"<think>é</think>Hi"}`, `{"content":"Hi","reasoning_content":"é","tool_calls":[]}`},
		{`{"output":"é</think>Hi","enable_thinking":true}`, `{"content":"Hi","reasoning_content":"é","tool_calls":[]}`},
		{`{"output":"é</think>Hi","enable_thinking":true,"reasoning_format":"none"}`, `{"content":"<think>\né</think>Hi","reasoning_content":"","tool_calls":[]}`},
		{`{"output":"Hi\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",` + tools + `}`,
			`{"content":"Hi","reasoning_content":"","tool_calls":[{"name":"f","arguments":"{\"a\": 1}"}]}`},
		{`{"output":"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\"","partial":true,` + tools + `}`,
			`{"content":"","reasoning_content":"","tool_calls":[{"name":"f","arguments":"{\"a\""}]}`},
		{`{"output":"ld","continue_final_message":"content","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"wor","reasoning_content":"r"}]}`,
			`{"content":"world","reasoning_content":"r","tool_calls":[]}`},
	} {
		for _, split := range []string{"0", "1", "3"} {
			if got := mustRun(t, c.line+"\n", "inspect", "output", "--template", file, "--split", split); got != c.want+"\n" {
				t.Errorf("%s, %s bytes at a time:\n got %swant %s", c.line, split, got, c.want)
			}
		}
	}
	named := mustRun(t, `{"output":"[THINK]a[/THINK]b"}`, "inspect", "output", "--template", file, "--reasoning-parser", "mistral")
	if named != `{"content":"b","reasoning_content":"a","tool_calls":[]}`+"\n" {
		t.Errorf("a named parser: %s", named)
	}
	if text := mustRun(t, "", "inspect", "output", "--template", file, "--describe"); !strings.Contains(text, `"name":"hermes"`) || !strings.Contains(text, `"</think>"`) {
		t.Errorf("the format: %s", text)
	}
}

func TestInspectOutputRefuses(t *testing.T) {
	file := templateFile(t)
	for _, c := range []struct {
		line, want string
		flags      []string
	}{
		{"{}", `line 1: "output" is missing`, nil},
		{`{"output":"x","tools":[{"name":"f"}]}`, `line 1: tools[0] has no name; a tool is`, nil},
		{"[]", "line 1: ", nil},
		{`{"output":"x","continue_final_message":"both"}`, "use content or reasoning", nil},
		{"", "at least 1", []string{"--split", "-1"}},
		{"", "did you mean hermes?", []string{"--tool-call-parser", "herms"}},
		{"", "did you mean deepseek-r1?", []string{"--reasoning-parser", "deepseek_r2"}},
		{"", `no tool parser "herms"`, []string{"--tool-call-parser", "herms"}},
	} {
		_, err := run(t, c.line, append([]string{"inspect", "output", "--template", file}, c.flags...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v", c.line, c.flags, err)
		}
	}
}
