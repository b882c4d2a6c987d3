package output

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func known(t testing.TB, name string) *Format {
	t.Helper()
	f, err := Named(Format{}, name, "")
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

// show prints a message in one line.
func show(m Message) string {
	var parts []string
	if m.Reasoning != "" {
		parts = append(parts, fmt.Sprintf("thought %q", m.Reasoning))
	}
	if m.Content != "" {
		parts = append(parts, fmt.Sprintf("content %q", m.Content))
	}
	for _, c := range m.Calls {
		parts = append(parts, fmt.Sprintf("call %s%s", c.Name, c.Arguments))
		if c.ID != "" {
			parts = append(parts, "id "+c.ID)
		}
		if !c.Complete {
			parts = append(parts, "cut")
		}
	}
	return strings.Join(parts, ", ")
}

// Every format: a call, two calls with text around, and a call that is none.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"hermes", "Hi <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>\n", `content "Hi ", call weather{"city": "Rome"}`},
		{"hermes", `<tool_call>{"name": "stop"}</tool_call><tool_call>{"arguments": {"days": 1}, "name": "weather"}</tool_call> Done`,
			`content " Done", call stop{}, call weather{"days": 1}`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": ""}</tool_call>`, `call weather{}`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": null}</tool_call>`, `call weather{}`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": "{\"city\": \"\\u00e9\\n\"}"}</tool_call>`, `call weather{"city": "\u00e9\n"}`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": "{\"city\": \"\ud83d\ude00\ud83d\u0041\ud83d\"}"}</tool_call>`, `call weather{"city": "😀�A�"}`},
		{"hermes", "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"a\nb\"}}</tool_call>", `call weather{"city": "a\nb"}`},
		{"hermes", `<tool_call>{"type": "function", "function": {"name": "weather", "arguments": {}}, "n": [1, {"a": 2.5}]}</tool_call>`, `call weather{}`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": "{\"city\": \"\/\b\f\r\t\"} \n"}</tool_call>`, `call weather{"city": "/\u0008\u000c\r\t"}`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": "{} x"}`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": \"{} x\"}"`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": "{"}`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": \"{\"}"`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": {"city": "\x"}}`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"\\x\"}}"`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": {"city": "\u00eg"}}`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"\\u00eg\"}}"`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": {"days": 01}}`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": {\"days\": 01}}"`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": {"tags": [1,]}}`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": {\"tags\": [1,]}}"`},
		{"hermes", `<tool_call>{"name": "weather", "name": "stop"}`, `content "<tool_call>{\"name\": \"weather\", \"name\": \"stop\"}"`},
		{"hermes", `<tool_call>{"arguments": {}}`, `content "<tool_call>{\"arguments\": {}}"`},
		{"hermes", `<tool_call>{"name": "weather", "arguments": [1]}</tool_call>`, `content "<tool_call>{\"name\": \"weather\", \"arguments\": [1]}</tool_call>"`},
		{"hermes", `<tool_call>{"name": "other", "arguments": {}}</tool_call>`, `content "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>"`},
		{"hermes", " \n<tool_call>{\"name\": \"weather\", \"arguments\": {]", "content \" \\n<tool_call>{\\\"name\\\": \\\"weather\\\", \\\"arguments\\\": {]\""},
		{"hermes", `<tool_call><tool_call>{"name": "stop"}</tool_call>`, `content "<tool_call>", call stop{}`},
		{"hermes", `The <tool_call> tag, then <tool_call>{"name": "stop"}`, `content "The <tool_call> tag, then ", call stop{}`},
		{"hermes", `<tool_call>{"name": "stop"} </tool_cal`, `content " </tool_cal", call stop{}`},
		{"qwen3-coder", "<tool_call>\n<function=weather>\n<parameter=city>\nA\nB \"x\"\n</parameter>\n<parameter=days>\n7\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n" +
			"<parameter=tags>\n['a', 1, None]\n</parameter>\n<parameter=any>\nsome text\n</parameter>\n</function>\n</tool_call>",
			`call weather{"city": "A\nB \"x\"", "days": 7, "exact": true, "tags": ["a", 1, null], "any": "some text"}`},
		{"qwen3-coder", "<function=stop></function>", `call stop{}`},
		{"qwen3-coder", "<tool_call><function=weather><parameter=city>x", `content "<tool_call><function=weather><parameter=city>x"`},
		{"seed-oss", "<seed:think>a</seed:think>\n<seed:tool_call>\n<function=weather>\n<parameter=days>1</parameter>\n</function>\n</seed:tool_call>", `thought "a", call weather{"days": 1}`},
		{"glm-4.5", "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>\nRome</arg_value>\n</tool_call>\n<tool_call>stop</tool_call>", `call weather{"city": "\nRome"}, call stop{}`},
		{"kimi-k2", "<think>a<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:3<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
			`thought "a", call weather{}, id functions.weather:3`},
		{"deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>stop\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
			`call weather{}, call stop{}`},
		{"deepseek-v3.1", "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"days\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `content "a", call weather{"days": 1}`},
		{"deepseek-v3.2", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">7</｜DSML｜parameter>\n" +
			"<｜DSML｜parameter name=\"any\" string=\"false\">[7]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `call weather{"city": "7", "any": [7]}`},
		{"minimax-m2", "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">a<b</parameter>\n</invoke>\n<invoke name=\"stop\">\n</invoke>\n</minimax:tool_call>",
			`call weather{"city": "a<b"}, call stop{}`},
		{"mistral", `[TOOL_CALLS] [{"name": "weather", "arguments": {}, "id": "abcdefghi"}, {"name": "stop"}]`, `call weather{}, id abcdefghi, call stop{}`},
		{"mistral", `[TOOL_CALLS][]`, `content "[TOOL_CALLS][]"`},
		{"mistral", `[TOOL_CALLS][{"name": "stop"}, oops`, `content ", oops", call stop{}`},
		{"mistral-v11", `[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{"days": 1}[TOOL_CALLS]stop{}`, `call weather{"days": 1}, id abcdefghi, call stop{}`},
		{"gemma-4", `<|channel>thought` + "\nhm<channel|>" + `<|tool_call>call:weather{city:<|"|>a "b" <|<|"|>,days:3,more:{a:[1,<|"|>x<|"|>]},any:}<tool_call|>`,
			`thought "hm", content "<|tool_call>call:weather{city:<|\"|>a \"b\" <|<|\"|>,days:3,more:{a:[1,<|\"|>x<|\"|>]},any:}<tool_call|>"`},
		{"gemma-4", `<|tool_call>call:weather{city:New York,days:3,more:{a:[1,<|"|>x<|"|>]},exact:true}<tool_call|>`,
			`call weather{"city": "New York", "days": 3, "more": {"a": [1, "x"]}, "exact": true}`},
		{"lfm2", `<|tool_call_start|>[weather(city='it\'s', days=-1.5, exact=False, more={"a": (1, None)}), stop()]<|tool_call_end|>`,
			`call weather{"city": "it's", "days": -1.5, "exact": false, "more": {"a": [1, null]}}, call stop{}`},
		{"lfm2", `<|tool_call_start|>[weather(city="""a"b""", any="", tags=["\x41\u00e9\d"])]<|tool_call_end|>`, `call weather{"city": "a\"b", "any": "", "tags": ["Aé\\d"]}`},
		{"lfm2", `<|tool_call_start|>[weather(city="\a\b\f\n\r\t\v\0\\\"\'\x41\u00e9\U0001F600\q\` + "\n" + `|")]<|tool_call_end|>`,
			`call weather{"city": "\u0007\u0008\u000c\n\r\t\u000b\u0000\\\"'Aé😀\\q|"}`},
		{"lfm2", `<|tool_call_start|>[weather(city="\xg1")]`, `content "<|tool_call_start|>[weather(city=\"\\xg1\")]"`},
		{"lfm2", `<|tool_call_start|>[weather(more={1: 2})]`, `content "<|tool_call_start|>[weather(more={1: 2})]"`},
		{"lfm2", `<|tool_call_start|>[weather(tags=[1)]`, `content "<|tool_call_start|>[weather(tags=[1)]"`},
		{"gemma-4", `<|tool_call>call:weather{"city":"a\nb",<|"|>days<|"|>:1}`, `call weather{"city": "a\nb", "days": 1}`},
		{"gemma-4", `<|tool_call>call:weather{city:<|"|>a`, `content "<|tool_call>call:weather{city:<|\"|>a"`},
		{"pythonic", `[weather(city="Rome")]`, `call weather{"city": "Rome"}`},
		{"pythonic", `[weather(city=Rome)]`, `content "[weather(city=Rome)]"`},
		{"pythonic", `[1, 2] is a list`, `content "[1, 2] is a list"`},
		{"command-r7b", "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {}}\n]<|END_ACTION|>", `thought "hm", call weather{}, id 0`},
		{"command-r7b", "<|START_RESPONSE|>Hi<|END_RESPONSE|>", `content "Hi"`},
		{"command-r", "Action:\n```json\n[\n  {\"tool_name\": \"weather\", \"parameters\": {}}\n]\n```", `call weather{}`},
		{"apertus", `<|tools_prefix|>[{"weather": {"days": 1}}, {"stop": {}}]<|tools_suffix|>`, `call weather{"days": 1}, call stop{}`},
		{"apriel", `<tool_calls>[{"name": "weather", "arguments": {}}]</tool_calls>`, `call weather{}`},
		{"hunyuan", "<think>a</think>\n<answer>\nHi\n</answer>", `thought "a", content "Hi"`},
		{"nemotron-v2", `<TOOLCALL>[{"name": "weather", "arguments": {}}]</TOOLCALL>`, `call weather{}`},
		{"phi-4-mini", `<|tool_call|>[{"name": "weather", "arguments": {}}]<|/tool_call|>`, `call weather{}`},
		{"firefunction", ` functools[{"name": "weather", "arguments": {}}]`, `call weather{}`},
		{"gigachat-3", "Hi<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"weather\", \"arguments\": {}}", `content "Hi", call weather{}`},
		{"gigachat-3.1", `<|function_call|>{"name": "weather", "arguments": {}}`, `call weather{}`},
		{"solar-open", "<|think|>a<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>x1<|tool_call:name|>weather<|tool_call:args|>{}<|tool_call:end|><|calls|>", `thought "a", call weather{}, id x1`},
		{"functionary-v3.1", `<function=weather>{"days": 1}</function><function=stop>{}</function>`, `call weather{"days": 1}, call stop{}`},
		{"functionary-v3.2", ">>>all\nHi>>>weather\n{}", `content "Hi", call weather{}`},
		{"llama-3", `{"name": "weather", "parameters": {"days": 1}}; {"name": "stop", "parameters": {}}`, `call weather{"days": 1}, call stop{}`},
		{"llama-3", `<|python_tag|>{"type": "function", "function": "weather", "parameters": {}}`, `call weather{}`},
		{"llama-3", `{"name": "Ann", "age": 3}`, `content "{\"name\": \"Ann\", \"age\": 3}"`},
		{"llama-3", `<{"name": "stop"}`, `content "<{\"name\": \"stop\"}"`},
		{"llama-3", `Yes: {"name": "stop"}`, `content "Yes: {\"name\": \"stop\"}"`},
		{"json-list", `[{"name": "weather", "arguments": {}}]`, `call weather{}`},
		{"harmony", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"days\": 1}<|call|>", `thought "hm", call weather{"days": 1}`},
		{"harmony", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>c<|return|>", `thought "a\nb", content "c"`},
		{"harmony", "<|channel|>commentary to=python<|message|>1+1<|call|>", ``},
		{"harmony", "<|channel|>commentary to=functions.other<|message|>{}", `content "<|channel|>commentary to=functions.other<|message|>{}"`},
		{"harmony", " to=functions.stop<|channel|>commentary<|message|>{oops", `content " to=functions.stop<|channel|>commentary<|message|>{oops"`},
		{"harmony", "Hello there", `content "Hello there"`},
		{"harmony", "<|<|channel|>final<|message|>c", `content "<|c"`},
	} {
		f, o := known(t, c.format), Options{Tools: ownTools}
		if got := show(Read(f, o, c.text, false)); got != c.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", c.format, c.text, got, c.want)
		}
		if got := show(readCut(f, o, false, strings.Split(c.text, "")...)); got != c.want {
			t.Errorf("%s, %s in characters:\n got %s\nwant %s", c.format, c.text, got, c.want)
		}
	}
}

func TestReasoning(t *testing.T) {
	for _, c := range []struct {
		text, want string
		r          Reasoning
		o          Options
	}{
		{"<think>\na\n</think>\n\nb\n", `thought "a", content "b\n"`, think, Options{}},
		{"\n<think>a</think>\n  b", `thought "a", content "  b"`, think, Options{}},
		{"<think>a", `thought "a"`, think, Options{}},
		{"a <think>b</think>", `content "a <think>b</think>"`, think, Options{}},
		{"a</think>b", `content "a</think>b"`, think, Options{}},
		{"a</think>b", `thought "a", content "b"`, think, Options{Opened: "<think>\n"}},
		{"a</think>b", `thought "a", content "b"`, implied(think), Options{}},
		{"<think>a</think>b", `thought "a", content "b"`, think, Options{Opened: "<think>\n"}},
		{" a</think>b", `thought " a", content "b"`, think, Options{Begin: InReasoning}},
		{"<think>a</think>", `content "<think>a</think>"`, think, Options{Begin: InContent}},
		{"<think>\na\n</think>\n\nb", `content "<think>\na\n</think>\n\nb"`, think, Options{KeepReasoning: true}},
		{"a</think>b", `content "<think>\na</think>b"`, think, Options{KeepReasoning: true, Opened: "<think>\n"}},
		{"<think>a</think>", `content "<think>a</think>"`, Reasoning{}, Options{}},
		{"a[BEGIN FINAL RESPONSE]\nb", `thought "Here are my reasoning steps:\na", content "b"`, apriel, Options{Opened: apriel.Open}},
		{"<think><tool_call>{\"name\": \"stop\"}</tool_call></think>b", `thought "<tool_call>{\"name\": \"stop\"}</tool_call>", content "b"`, think, Options{Tools: ownTools}},
	} {
		f := known(t, "hermes")
		f.Reasoning = c.r
		if got := show(Read(f, c.o, c.text, false)); got != c.want {
			t.Errorf("%q, %+v:\n got %s\nwant %s", c.text, c.o, got, c.want)
		}
	}
}

// Of a cut output, what is known so far is given.
func TestCutOutput(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"hermes", `Hi <tool_ca`, `content "Hi "`},
		{"hermes", `<tool_call>{"name": "wea`, ``},
		{"hermes", `<tool_call>{"name": "weather", "arguments": {"ci`, `call weather{"ci, cut`},
		{"lfm2", `<|tool_call_start|>[weather(days=`, `call weather{"days": , cut`},
		{"lfm2", `<|tool_call_start|>[stop(), weather(`, `call stop{}, call weather{, cut`},
		{"qwen3-coder", "<tool_call><function=weather><parameter=city>\nRo", `call weather{"city": "Ro, cut`},
		{"harmony", "<|channel|>ana", ``},
	} {
		for _, hold := range []bool{false, true} {
			if got := show(Read(known(t, c.format), Options{Tools: ownTools, Hold: hold}, c.text, true)); got != c.want {
				t.Errorf("%s, hold %v, %s:\n got %s\nwant %s", c.format, hold, c.text, got, c.want)
			}
		}
	}
}

// Arguments come as the model writes them, not only at the end of a call.
func TestArgumentsStream(t *testing.T) {
	for format, text := range map[string]string{
		"hermes":      `<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>`,
		"qwen3-coder": "<tool_call><function=weather><parameter=city>Rome</parameter></function></tool_call>",
		"lfm2":        `<|tool_call_start|>[weather(city="Rome")]<|tool_call_end|>`,
	} {
		for _, hold := range []bool{false, true} {
			p := NewParser(known(t, format), Options{Tools: ownTools, Hold: hold})
			until := strings.Index(text, "Rome") + 2
			events := slices.Clone(p.Push(text[:until]))
			var c Collector
			c.Add(events)
			m := c.Message()
			switch {
			case hold && len(events) > 0:
				t.Errorf("%s: %+v came before the call was complete", format, events)
			case !hold && (len(m.Calls) != 1 || m.Calls[0].Arguments != `{"city": "Ro`):
				t.Errorf("%s: after %q: %+v", format, text[:until], events)
			}
			c.Add(p.Push(text[until:]))
			c.Add(p.Finish(false))
			if got := show(c.Message()); got != `call weather{"city": "Rome"}` {
				t.Errorf("%s: %s", format, got)
			}
		}
	}
}

// Without tools calls are content; with AnyName all are given.
func TestToolsThatMayBeCalled(t *testing.T) {
	text := `<tool_call>{"name": "other", "arguments": {}}</tool_call>`
	for want, o := range map[string]Options{
		`content "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>"`: {},
		`call other{}`: {AnyName: true},
	} {
		if got := show(Read(known(t, "hermes"), o, text, false)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Reasoning tells thoughts from the rest, so that a grammar can begin after them.
func TestReasoningState(t *testing.T) {
	f := known(t, "hermes")
	f.Reasoning = think
	p := NewParser(f, Options{})
	var states []bool
	for _, piece := range []string{"<thi", "nk>a", "</think", ">b"} {
		p.Push(piece)
		states = append(states, p.Reasoning())
	}
	if !slices.Equal(states, []bool{false, true, true, false}) {
		t.Error(states)
	}
}

// A special token is part of a mark, or it is left out.
func TestSpecialTokens(t *testing.T) {
	p := NewParser(known(t, "kimi-k2"), Options{Tools: ownTools})
	var c Collector
	c.Add(p.Push("Hi"))
	for _, token := range []string{"<|im_start|>", "<|tool_call_begin|>"} {
		c.Add(p.PushSpecial(token))
	}
	c.Add(p.Push("functions.stop:0"))
	c.Add(p.PushSpecial("<|tool_call_argument_begin|>"))
	c.Add(p.Push("{}"))
	for _, token := range []string{"<|tool_call_end|>", "<|im_end|>"} {
		c.Add(p.PushSpecial(token))
	}
	c.Add(p.Finish(false))
	if got := show(c.Message()); got != `content "Hi", call stop{}, id functions.stop:0` {
		t.Error(got)
	}
}

// What is held back is bounded, and what is beyond a bound is content at once.
func TestBounds(t *testing.T) {
	call := func(arguments string) string { return `<tool_call>{"name": "weather", "arguments": ` + arguments }
	long := strings.Repeat("x", MaxCall)
	name := long[:2*MaxHeader]
	for _, c := range []struct{ format, what, text string }{
		{"hermes", "a long call", call(`{"city": "` + long)},
		{"hermes", "deep arguments", call(strings.Repeat(`{"a":`, MaxDepth+100))},
		{"hermes", "a long name", `<tool_call>{"name": "` + name},
		{"hermes", "a long key", `<tool_call>{"` + name},
		{"hermes", "a long number", call(`{"days": ` + strings.Repeat("1", 2*MaxHeader))},
		{"hermes", "much space", strings.Repeat(" ", 2*MaxSpace) + "<tool_call>"},
		{"hermes", "space in a call", "<tool_call>" + strings.Repeat(" ", MaxCall)},
		{"lfm2", "deep lists", "<|tool_call_start|>[weather(tags=" + strings.Repeat("[", MaxDepth+100)},
		{"lfm2", "a long name", "<|tool_call_start|>[" + name},
		{"lfm2", "a long word", "<|tool_call_start|>[weather(days=" + name},
		{"qwen3-coder", "a long name", "<tool_call>\n<function=" + name},
		{"qwen3-coder", "a long value", "<tool_call>\n<function=weather>\n<parameter=days>\n" + long},
		{"qwen3-coder", "a long key", "<tool_call>\n<function=weather>\n<parameter=" + name},
		{"harmony", "a long header", "<|channel|>" + name},
	} {
		p := NewParser(known(t, c.format), Options{Tools: ownTools})
		var parts Collector
		parts.Add(p.Push(c.text))
		m := parts.Message()
		if held := len(c.text) - len(m.Content); held > 50 || cap(p.call.raw) > MaxSpace {
			t.Errorf("%s: %d bytes are held back, %d kept", c.what, held, cap(p.call.raw))
		}
		parts.Add(p.Finish(false))
		if m = parts.Message(); m.Content != c.text || len(m.Calls) > 0 {
			t.Errorf("%s: %d calls, content of %d bytes instead of %d", c.what, len(m.Calls), len(m.Content), len(c.text))
		}
	}
	f := known(t, "hermes")
	f.Reasoning = think
	if m := Read(f, Options{}, "<think>a"+strings.Repeat(" ", 2*MaxSpace)+"</think>", false); len(m.Reasoning) < MaxSpace {
		t.Errorf("white space of %d bytes after thoughts", len(m.Reasoning))
	}
}

// A broken call keeps its index, and the next one has another. With Hold there is no broken call.
func TestBrokenCall(t *testing.T) {
	for _, c := range []struct {
		hold    bool
		kinds   []Kind
		indexes []int
	}{
		{false, []Kind{CallOpened, CallBroken, ContentDelta, CallOpened, ArgumentsDelta, CallClosed}, []int{0, 0, 0, 1, 1, 1}},
		{true, []Kind{ContentDelta, CallOpened, ArgumentsDelta, CallClosed}, []int{0, 0, 0, 0}},
	} {
		p := NewParser(known(t, "hermes"), Options{Tools: ownTools, Hold: c.hold})
		var kinds []Kind
		var indexes []int
		for _, e := range append(slices.Clone(p.Push(`<tool_call>{"name": "stop", "x" <tool_call>{"name": "stop"}`)), p.Finish(false)...) {
			kinds, indexes = append(kinds, e.Kind), append(indexes, e.Index)
		}
		if !reflect.DeepEqual(kinds, c.kinds) || !reflect.DeepEqual(indexes, c.indexes) {
			t.Errorf("hold %v: kinds %v, indexes %v", c.hold, kinds, indexes)
		}
	}
}

// A mark at the end of the prompt that opens a call is no part of the output's text.
func TestOpenedCall(t *testing.T) {
	for text, want := range map[string]string{"Hi": `content "Hi"`, "all\nHi": `content "Hi"`, "stop\n{}": `call stop{}`, "other\n{}": `content "other\n{}"`} {
		if got := show(Read(known(t, "functionary-v3.2"), Options{Tools: ownTools, Opened: ">>>"}, text, false)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func BenchmarkParser(b *testing.B) {
	text := "<think>" + strings.Repeat("I consider the weather. ", 200) + "</think>" + strings.Repeat("It is fine. ", 200) +
		`<tool_call>{"name": "weather", "arguments": {"city": "` + strings.Repeat("Rome ", 200) + `"}}</tool_call>`
	f := known(b, "hermes")
	f.Reasoning = think
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p := NewParser(f, Options{Tools: ownTools})
		for i := 0; i < len(text); i += 4 {
			p.Push(text[i:min(i+4, len(text))])
		}
		p.Finish(false)
	}
}

// TestContentMarkWithoutTools: the mark that begins content begins it even if nothing may be called.
func TestContentMarkWithoutTools(t *testing.T) {
	f, err := Named(Format{}, "functionary-v3.2", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ opened, text, want string }{
		{">>>", "all\nHello", "Hello"}, {"", ">>>all\nHello", "Hello"}, {"", "a >>>f\n{}", "a >>>f\n{}"},
	} {
		if m := Read(&f, Options{Opened: c.opened}, c.text, false); m.Content != c.want || len(m.Calls) > 0 {
			t.Errorf("%q: %+v", c.text, m)
		}
	}
}
