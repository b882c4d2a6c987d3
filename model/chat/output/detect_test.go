package output

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/chat"
)

// template makes a template in the manner of ChatML; call writes a call named c, thoughts may use m.
func template(t testing.TB, thoughts, call, prompt string) *chat.Template {
	t.Helper()
	tmpl, err := chat.Parse("own", `{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}`+thoughts+`{% endif %}{{ m.content or '' }}{% for call in m.tool_calls or [] %}{% set c = call.function %}`+call+
		`{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
`+prompt+`{% endif %}`)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

const thinkThoughts = `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}`

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		thoughts, call, prompt string
		format, lead           string
		reasoning              Reasoning
		history                History
	}{
		"nothing": {format: "content"},
		"hermes": {call: `{{ '\n<tool_call>\n{"name": "' + c.name + '", "arguments": ' + (c.arguments | tojson) + '}\n</tool_call>' }}`,
			format: "hermes", lead: "\n"},
		"arguments as a text": {call: `{{ '<tool_call>{"name": "' + c.name + '", "arguments": ' + c.arguments + '}</tool_call>' }}`,
			format: "hermes", history: History{ArgumentsText: true}},
		"thoughts": {thoughts: thinkThoughts, call: `[TOOL_CALLS]{{ c.name }}[ARGS]{{ c.arguments | tojson }}`,
			format: "mistral-v11", reasoning: think, history: History{Reasoning: "reasoning_content"}},
		"thoughts opened by the prompt": {prompt: `{% if enable_thinking %}{{ '<think>\n' }}{% endif %}`, format: "content", reasoning: think},
		"thoughts under another key":    {thoughts: `[THINK]{{ m.thinking }}[/THINK]`, format: "content", reasoning: mistral, history: History{Reasoning: "thinking"}},
		"marks in the source only":      {thoughts: `{# call with <|tool_calls_section_begin|><|tool_call_begin|>functions.x:0<|tool_call_argument_begin|> #}`, format: "kimi-k2", reasoning: thinkUntil},
		"parameters in tags": {call: "{{ '\\n\\n' }}<tool_call>\n<function={{ c.name }}>\n{% for k, v in c.arguments | items %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>",
			format: "qwen3-coder", lead: "\n\n"},
		"unknown marks": {call: `{{ '\n<<call>>{"tool": "' + c.name + '", "input": ' + (c.arguments | tojson) + '}<</call>>' }}`, format: "json", lead: "\n"},
		"an unknown list": {call: `{{ '%%[{"uid": "' + call.id + '", "fn": "' + c.name + '", "args": ' + (c.arguments | tojson) + '}]%%end' }}`,
			format: "json"},
	} {
		f := Detect(context.Background(), template(t, c.thoughts, c.call, c.prompt), DetectOptions{})
		lead := ""
		if f.Calls != nil {
			lead = f.Calls.Lead
		}
		if f.Name != c.format || lead != c.lead || f.Reasoning != c.reasoning || f.History != c.history {
			t.Errorf("%s: %s, lead %q, %+v, %+v", name, f.Name, lead, f.Reasoning, f.History)
		}
	}
}

// A format made of a template reads calls as that template writes them.
func TestDerivedFormat(t *testing.T) {
	list := `{{ '%%[{"uid": "' + call.id + '", "fn": "' + c.name + '", "args": ' + (c.arguments | tojson) + '}]%%end' }}`
	tagged := `{{ '\n<<call>>{"tool": "' + c.name + '", "input": ' + (c.arguments | tojson) + '}<</call>>' }}`
	for _, c := range []struct{ call, text, want string }{
		{list, `Hi %%[{"uid": "a1", "fn": "weather", "args": {}}, {"fn": "stop", "args": {}}]%%end`, `content "Hi ", call weather{}, id a1, call stop{}`},
		{tagged, "Hi\n<<call>>{\"tool\": \"weather\", \"input\": {}}<</call>>", `content "Hi", call weather{}`},
		{tagged, "<<call>>{\"name\": \"weather\"}<</call>>", `content "<<call>>{\"name\": \"weather\"}<</call>>"`},
	} {
		f := Detect(context.Background(), template(t, "", c.call, ""), DetectOptions{})
		if got := show(Read(&f, Options{Tools: ownTools}, c.text, false)); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// A message that is read, prepared and rendered again is prompt and output.
func TestRenderedAgain(t *testing.T) {
	tmpl := template(t, `{% if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}`,
		`{{ '\n<tool_call>\n{"name": "' + c.name + '", "arguments": ' + (c.arguments | tojson) + '}\n</tool_call>' }}`, "{{ '<think>\n' }}")
	f := Detect(context.Background(), tmpl, DetectOptions{})
	question := `{"role": "user", "content": "Rome?"}`
	render := func(messages string, generate bool) string {
		v, err := chat.DecodeJSON([]byte(messages))
		if err != nil {
			t.Fatal(err)
		}
		text, err := tmpl.Render(context.Background(), chat.Input{Messages: f.History.Prepare(v), AddGenerationPrompt: generate})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	prompt := render("["+question+"]", true)
	for _, text := range []string{
		"I look.\n</think>\n\nOne moment.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 1}}\n</tool_call>",
		"I look.\n</think>\n\nSunny.",
	} {
		m := Read(&f, Options{Tools: ownTools, Opened: f.Opened(prompt)}, text, false)
		answer := map[string]any{"role": "assistant", "content": m.Content, "reasoning_content": m.Reasoning}
		for _, call := range m.Calls {
			answer["tool_calls"] = []any{map[string]any{"function": map[string]any{"name": call.Name, "arguments": call.Arguments}}}
		}
		again, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if got := render("["+question+","+string(again)+"]", false); !strings.HasPrefix(got, prompt+text) {
			t.Errorf("got %q\nwant %q", got, prompt+text)
		}
	}
}

func TestPrepare(t *testing.T) {
	for _, c := range []struct {
		h          History
		text, want string
	}{
		{History{}, `[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"b\": 1, \"a\": 2}"}}]}]`,
			`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]}]`},
		{History{ArgumentsText: true}, `[{"role":"assistant","tool_calls":[{"function":{"arguments":{"b": 1, "a": 2}}}]}]`,
			`[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"b\": 1, \"a\": 2}"}}]}]`},
		{History{}, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"no JSON"}}]}]`, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"no JSON"}}]}]`},
		{History{Reasoning: "thinking"}, `[{"role":"assistant","content":"c","reasoning_content":"r"}]`, `[{"role":"assistant","content":"c","thinking":"r"}]`},
		{History{Reasoning: "content"}, `[{"role":"assistant","content":"c","reasoning":"r"}]`,
			`[{"role":"assistant","content":[{"type":"thinking","thinking":"r"},{"type":"text","text":"c"}]}]`},
		{History{}, `[{"role":"user","content":"c","reasoning":"r"}, 3]`, `[{"role":"user","content":"c","reasoning":"r"},3]`},
		{History{}, `"text"`, `"text"`},
	} {
		v, err := chat.DecodeJSON([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := chat.Parse("", "{{ messages | tojson(separators=(',', ':')) }}")
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(context.Background(), chat.Input{Messages: c.h.Prepare(v)})
		if err != nil || got != c.want {
			t.Errorf("%+v, %s:\n got %s %v\nwant %s", c.h, c.text, got, err, c.want)
		}
	}
}

func TestOpened(t *testing.T) {
	for _, c := range []struct{ prompt, format, want string }{
		{"user: <think>\n", "minimax-m2", "<think>\n"}, {"<think>\n\n</think>\n", "minimax-m2", ""}, {"<think> Hi", "minimax-m2", ""},
		{"assistant>>>", "functionary-v3.2", ">>>"}, {"assistant", "hermes", ""}, {"", "hermes", ""},
	} {
		if got := known(t, c.format).Opened(c.prompt); got != c.want {
			t.Errorf("%s, %q: %q", c.format, c.prompt, got)
		}
	}
}

func TestNamed(t *testing.T) {
	for name := range toolParsers {
		if _, err := Named(Format{}, name, ""); err != nil {
			t.Error(err)
		}
	}
	was := Format{Name: "x", Reasoning: mistral, History: History{Reasoning: "thinking"}}
	f, err := Named(was, "Qwen3_Coder", "")
	if err != nil || f.Name != "qwen3-coder" || f.Reasoning != mistral || f.History != was.History {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = Named(was, "", "deepseek-r1"); err != nil || f.Name != "x" || f.Reasoning != implied(think) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = Named(was, "", ""); err != nil || !reflect.DeepEqual(f, was) {
		t.Errorf("%+v, %v", f, err)
	}
	lead := *known(t, "hermes")
	lead.Calls = &Calls{Lead: "\n"}
	if f, err = Named(lead, "hermes", ""); err != nil || f.Calls.Lead != "\n" {
		t.Errorf("the same format again: %+v, %v", f, err)
	}
	for _, names := range [][2]string{{"herms", ""}, {"", "qwn3"}} {
		if _, err := Named(was, names[0], names[1]); err == nil || !strings.Contains(err.Error(), names[0]+names[1]) || !strings.Contains(err.Error(), "qwen3") {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// The catalogue is sound: names are unique, patterns can be read, and no mark of free text hides another.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range catalogue {
		if seen[f.Name] || f.Name == "" {
			t.Errorf("the name %q is there twice", f.Name)
		}
		seen[f.Name] = true
		m := newMarking(&f, true)
		for _, set := range []*marks{m.start, m.content, m.reasoning, m.thought} {
			for i, a := range set.list {
				for j, b := range set.list {
					if i != j && strings.HasPrefix(a, b) {
						t.Errorf("%s: the mark %q hides %q", f.Name, b, a)
					}
				}
			}
		}
		for _, p := range append(m.headers, m.params...) {
			for _, part := range p {
				if !strings.Contains(" name key string index word id /id args tags ", " "+part.Field+" ") && part.Field != "" || part.Field+part.Literal == "" {
					t.Errorf("%s: the pattern has %+v", f.Name, part)
				}
			}
		}
	}
}

func TestFormatAsJSON(t *testing.T) {
	for name, want := range map[string]string{"lfm2": `"arguments":"python"`, "kimi-k2": `"id":"functions.NAME:0"`, "harmony": `"body":"\u003c|message|\u003e"`} {
		if text, err := json.Marshal(known(t, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func TestIDs(t *testing.T) {
	random := [24]byte{0, 61, 62, 255}
	for shape, want := range map[IDShape]string{CallID: "call_0z07" + strings.Repeat("0", 20), NineID: "0z0700000", IndexID: "functions.f:3"} {
		if got := shape.New("f", 3, random); got != want {
			t.Errorf("%d: %q, want %q", shape, got, want)
		}
	}
}

func TestConvert(t *testing.T) {
	tool := newTool(Tool{Parameters: json.RawMessage(`{"properties": {"s": {"type": "string"}, "n": {"type": ["integer", "null"]}, "sn": {"type": ["string", "number"]},
		"e": {"enum": ["1", "2"]}, "ref": {"$ref": "#/$defs/list"}, "or": {"anyOf": [{"type": "boolean"}, {"type": "string"}]}, "odd": {"type": "thing"},
		"mixed": {"enum": [1, true, null, [2], {"a": 3}]}, "const": {"const": "1"}, "all": {"allOf": [{"type": ["string", "array"]}, {"type": "array"}]},
		"loop": {"$ref": "#/properties/loop"}}, "$defs": {"list": {"type": "array"}}}`)})
	for _, c := range []struct{ key, text, want string }{
		{"s", "7", `"7"`}, {"s", `"a"`, `"\"a\""`}, {"n", " 7\n", "7"}, {"n", "null", "null"}, {"n", "None", "null"}, {"n", "x", `"x"`},
		{"sn", "7", "7"}, {"sn", "x", `"x"`}, {"e", "1", `"1"`}, {"ref", "[1]", "[1]"}, {"ref", "['a']", `["a"]`}, {"or", "true", "true"}, {"or", "True", "true"},
		{"or", "[1]", `"[1]"`}, {"odd", "7", "7"}, {"mixed", "[2]", "[2]"}, {"mixed", "{'a': 3}", `{"a": 3}`},
		{"mixed", "x", `"x"`}, {"const", "1", `"1"`}, {"all", "[1]", "[1]"}, {"loop", "7", "7"}, {"unknown", `{"a": 1}`, `{"a": 1}`}, {"unknown", "", `""`}, {"unknown", "a\x01", `"a\u0001"`},
	} {
		if got := convert(c.text, tool.typesOf(c.key)); got != c.want {
			t.Errorf("%s: %q: %s, want %s", c.key, c.text, got, c.want)
		}
	}
}

// docs/formats.md has every name.
func TestDocumentedNames(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "_", "-")
	for _, name := range append(ToolParsers(), ReasoningParsers()...) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/formats.md lacks %s", name)
		}
	}
}
