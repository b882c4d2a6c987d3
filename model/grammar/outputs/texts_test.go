package outputs_test

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// texts are outputs of a format with the three tools of these tests, not strict: those that are allowed, and those
// that are not. {} stands for arguments of get_weather, as JSON.
var texts = []struct {
	format  string
	yes, no []string
}{
	{"hermes", []string{
		"Hello", "", "a <tool_cal", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>",
		"Let me see.\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"find-2\",\"parameters\":{\"tags\": []}}</tool_call>\n",
		"<think>I <tool_call> it</think>\n\nHello", "<think>\nx\n</think>\n\n<tool_call>{\"id\": \"abc\", \"name\": \"get_weather\", \"arguments\": {}}</tool_call>",
	}, []string{
		"<tool_call>", "<tool_call>Hello", "<tool_call>{\"name\": \"get_weathe\", \"arguments\": {}}</tool_call>", "<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}",
		"<tool_call>{\"name\": \"get_weather\", \"arguments\": []}</tool_call>", "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": 1}}</tool_call>",
		"<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call> done", "<tool_call>{\"name\": \"get_weather\"}</tool_call>", "<think>never closed",
	}},
	{"qwen3-coder", []string{
		"<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=get_weather>\n<parameter=days>\n3\n</parameter>\n<parameter=city>\nBonn\n</parameter>\n</function>\n</tool_call>",
		"Ok.\n<function=get_weather><parameter=city>two\nlines</parameter></function>",
		"<function=find-2>\n<parameter=where>\n{\"tag\": \"x\"}\n</parameter>\n<parameter=limit>\nall\n</parameter>\n</function>", "<function=find-2>\n</function>",
		"<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=unit>\ncelsius\n</parameter>\n<parameter=detail>\nnull\n</parameter>\n</function>\n</tool_call>",
		"<function=get_weather><parameter=city>\n[1, \"}\n</parameter><parameter=detail>\nnull and void\n</parameter></function>",
	}, []string{
		"<tool_call>\n<function=get_weather>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>", // no city
		"<function=get_weather>\n<parameter=city>\nB\n</parameter>\n</function>", "<function=get_weather>\n<parameter=city>\nBo#nn\n</parameter>\n</function>",
		"<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=days>\n0\n</parameter>\n</function>",
		"<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=city>\nBonn\n</parameter>\n</function>",
		"<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=unit>\nkelvin\n</parameter>\n</function>",
		"<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=town>\nBonn\n</parameter>\n</function>",
		"<function=find-2>\n<parameter=limit>\nsome\n</parameter>\n</function>", "<function=nobody>\n</function>", "<tool_call>\n</tool_call>",
	}},
	{"glm-4.5", []string{
		"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bonn</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
		"<think></think>\n<tool_call>find-2\n</tool_call>",
	}, []string{"<tool_call>get_weather\n</tool_call>", "<tool_call>get_weather\n<arg_key>city</arg_key>\n</tool_call>"}},
	{"deepseek-v3.2", []string{
		"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Bonn</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		"<think>so</think>a\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"find-2\">\n<｜DSML｜parameter name=\"limit\" string=\"true\">all</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
	}, []string{
		"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"false\">\"Bonn\"</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		"<｜DSML｜function_calls>\n</｜DSML｜function_calls>",
	}},
	{"kimi-k2", []string{
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
		"<think>hm<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.get_weather:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
	}, []string{
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:x<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
		"<|tool_calls_section_begin|><|tool_calls_section_end|>",
	}},
	{"deepseek-v3", []string{
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	}, []string{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{}\n```<｜tool▁call▁end｜>"}},
	{"mistral-v11", []string{"[TOOL_CALLS]get_weather[ARGS]{}", "[TOOL_CALLS]get_weather{}[TOOL_CALLS]get_weather[CALL_ID]abcDEF123[ARGS]{}", "Sure![TOOL_CALLS]get_weather[ARGS]{}"},
		[]string{"[TOOL_CALLS]get_weather[CALL_ID]abc[ARGS]{}", "[TOOL_CALLS]get_weather[ARGS]", "[TOOL_CALLS]"}},
	{"mistral", []string{`[TOOL_CALLS][{"name": "get_weather", "arguments": {}, "id": "abcDEF123"}]`, `[TOOL_CALLS] [{"name": "get_weather", "arguments": {}}, {"name": "get_weather", "arguments": {}}]`},
		[]string{`[TOOL_CALLS][]`, `[TOOL_CALLS][{"name": "get_weather", "arguments": {}, "id": "abc"}]`}},
	{"gemma-4", []string{`<|tool_call>call:get_weather{city:<|"|>Bonn<|"|>,days:[1,{a:null}]}<tool_call|>`, "<|channel>thought\nhm<channel|>Hello"},
		[]string{`<|tool_call>call:nobody{}<tool_call|>`, `<|tool_call>call:get_weather{city:Bonn}<tool_call|>`}},
	{"lfm2", []string{`<|tool_call_start|>[get_weather(city="Bonn", days=3), find-2(where={"not": {"tag": "x"}})]<|tool_call_end|>`, `<|tool_call_start|>[get_weather(city="a\"b\u00e9", detail=None)]<|tool_call_end|>`},
		[]string{`<|tool_call_start|>[get_weather()]<|tool_call_end|>`, `<|tool_call_start|>[get_weather(city="a\/b")]<|tool_call_end|>`, `<|tool_call_start|>[get_weather(city=Bonn)]<|tool_call_end|>`}},
	{"apertus", []string{`<|tools_prefix|>[{"get_weather": {}}]<|tools_suffix|>`}, []string{`<|tools_prefix|>[{"name": "get_weather", "arguments": {}}]<|tools_suffix|>`}},
	{"command-r7b", []string{"<|START_THINKING|>so<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {}}\n]<|END_ACTION|>", "<|START_RESPONSE|>Hi<|END_RESPONSE|>"},
		[]string{"<|START_ACTION|>[]<|END_ACTION|>"}},
	{"solar-open", []string{"<|think|>so<|end|><|begin|>assistant<|content|>Hello<|end|>", "<|think|>so<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>abc123<|tool_call:name|>get_weather<|tool_call:args|>{}<|tool_call:end|><|calls|>"},
		[]string{"<|tool_calls|><|calls|>"}},
	{"functionary-v3.2", []string{">>>all\nHello", "Hello", ">>>all\nLet me.>>>get_weather\n{}", ">>>get_weather\n{}>>>get_weather\n{}"}, []string{">>>nobody\n{}", ">>>", "x>>>y"}},
	{"llama-3", []string{`{"name": "get_weather", "parameters": {}}`, `<|python_tag|>{"name": "get_weather", "parameters": {}}; {"name": "get_weather", "parameters": {}}`, `{"type": "function", "name": "get_weather", "parameters": {}}`,
		`{"answer": 1}`, `Ok <|python_tag|>{"name": "get_weather", "parameters": {}}`, `See {"name": "get_weather"}`, `{`}, []string{`{"name": "x"}`, ` { "name" : `, `{"a": 1, "name": "get_weather"}`, `{"type": "function", "function": "get_weather"}`, `<|python_tag|>print(1)`, `{"answer": "<|python_tag|>{"name": "get_weather", "parameters": {}}`}},
	{"pythonic", []string{`[get_weather(city="Bonn")]`, `<|python_start|>[get_weather(city="Bonn")]<|python_end|>`, `[1, 2]`, `[get_weather]`, `x [get_weather(`},
		[]string{`[get_weather(`, `[ get_weather(city=1)]`, `<|python_start|>x`}},
	{"json-list", []string{`[{"name": "get_weather", "arguments": {}}]`, `[1, {}]`}, []string{`[{"a": 1}]`, `[ {`}},
	{"gigachat-3", []string{"<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"get_weather\", \"arguments\": {}}"}, []string{"<|message_sep|>\n\nfunction call<|role_sep|>\n{}"}},
	{"harmony", []string{
		"<|channel|>final<|message|>Hello", "<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
		"<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>",
		"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>{}",
		" to=functions.get_weather<|channel|>commentary json<|message|>{}<|call|>",
	}, []string{
		"Hello", "<|channel|>final", "<|channel|>commentary to=functions.nobody<|message|>{}<|call|>", "<|channel|>commentary to=functions.get_weather<|message|>",
		"<|channel|>final<|message|>Hello<|end|><|start|>assistant<|channel|>final<|message|>again",
	}},
}

func TestTextsByHand(t *testing.T) {
	for _, c := range texts {
		f := think(format(t, c.format))
		s := outputs.Spec{Format: f, Tools: threeTools(false)}
		g, r := compile(t, newVocabulary(t, f, true), s), newReader(t, s)
		for _, text := range c.yes {
			text = fill(text)
			if ok, upto := accepts(g, text); !ok {
				t.Errorf("%s refuses %q behind %q", c.format, text, upto)
			}
			if m, err := r.read(text); err != nil {
				t.Errorf("%s: %q is read as %+v: %v", c.format, text, m, err)
			}
		}
		for _, text := range c.no {
			if ok, _ := accepts(g, fill(text)); ok {
				t.Errorf("%s allows %q", c.format, fill(text))
			}
		}
	}
}

// fill puts in arguments of get_weather.
func fill(text string) string {
	for _, after := range []string{"arguments\": ", "arguments\":", "parameters\": ", "_begin|>", "[ARGS]", "get_weather", ">get_weather\n", "json\n", "get_weather\": ", "args|>", "<|message|>", "functions.get_weather<|message|>"} {
		text = strings.ReplaceAll(text, after+"{}", after+`{"city": "Bonn"}`)
	}
	return text
}

func TestWhatIsAskedFor(t *testing.T) {
	f := format(t, "hermes")
	f.Reasoning = think(f).Reasoning
	call := `<tool_call>{"name": "get_weather", "arguments": {"city": "Bonn"}}</tool_call>`
	for _, c := range []struct {
		name    string
		change  func(*outputs.Spec)
		yes, no []string
	}{
		{"required", func(s *outputs.Spec) { s.Required = true }, []string{call, "\n" + call + "\n" + call + "\n", "<think>x</think>\n" + call}, []string{"", "Hello " + call, "Hello", call + "x"}},
		{"single", func(s *outputs.Spec) { s.Single = true }, []string{call, "Hello " + call, "Hello"}, []string{call + call}},
		{"no thoughts", func(s *outputs.Spec) { s.NoThoughts = true }, []string{call, "Hello"}, []string{"<think>x</think>Hello", " <think>"}},
		{"opened", func(s *outputs.Spec) { s.Opened = "<think>\n" }, []string{"x</think>\n\nHello", "x\n</think>" + call}, []string{"Hello", call, "x</think><think>y</think>z"}},
		{"content", func(s *outputs.Spec) { s.Content = &outputs.Text{Kind: "json_schema", Text: `{"type":"boolean"}`} }, []string{"true", call, "<think>x</think>\n\nfalse", " " + call}, []string{"Hello", "true" + call, ""}},
		{"no tools", func(s *outputs.Spec) { s.Tools = nil }, []string{"Hello", call, "<tool_call>"}, []string{"<think>"}},
		{"implied", func(s *outputs.Spec) { s.Format.Reasoning.Implied = true }, []string{"x</think>y"}, []string{"x", "<think>"}},
	} {
		s := outputs.Spec{Format: f, Tools: threeTools(true)}
		c.change(&s)
		g := compile(t, newVocabulary(t, f, false), s)
		for _, text := range c.yes {
			if ok, upto := accepts(g, text); !ok {
				t.Errorf("%s refuses %q behind %q", c.name, text, upto)
			}
		}
		for _, text := range c.no {
			if ok, _ := accepts(g, text); ok {
				t.Errorf("%s allows %q", c.name, text)
			}
		}
	}
}
