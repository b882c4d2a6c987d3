package output

// Pairs of marks around thoughts.
var (
	think       = Reasoning{Open: "<think>", Close: "</think>"}
	thinkUntil  = Reasoning{Open: "<think>", Close: "</think>", EndedByCall: true}
	seedThink   = Reasoning{Open: "<seed:think>", Close: "</seed:think>"}
	mistral     = Reasoning{Open: "[THINK]", Close: "[/THINK]"}
	cohereThink = Reasoning{Open: "<|START_THINKING|>", Close: "<|END_THINKING|>"}
	gemmaThink  = Reasoning{Open: "<|channel>thought\n", Close: "<channel|>", Reopens: true}
	apriel      = Reasoning{Open: "Here are my reasoning steps:\n", Close: "[BEGIN FINAL RESPONSE]", KeepOpen: true}
	apertus     = Reasoning{Open: "<|inner_prefix|>", Close: "<|inner_suffix|>"}
	solarThink  = Reasoning{Open: "<|think|>", Close: "<|end|>"}
	granite32   = Reasoning{Open: "Here is my thought process:", Close: "Here is my response:"}
)

// Ways to write a call as an object.
var (
	nameArguments  = &Object{Name: []string{"name"}, Arguments: []string{"arguments", "parameters"}, ID: []string{"id"}}
	nameParameters = &Object{Name: []string{"name"}, Arguments: []string{"parameters", "arguments"}, ID: []string{"id"}}
)

// objects is a format of calls as objects in a list between two marks.
func objects(begin, end string, o *Object) *Calls {
	return &Calls{Begin: begin, List: true, End: end, Call: Call{Object: o}}
}

// tagged is a format of functions and parameters in tags, as Qwen3-Coder writes it.
func tagged(begin, end string) *Calls {
	return &Calls{Begin: begin, End: end, Call: Call{
		Open: "<function=", Headers: []string{"{name}>"}, Arguments: XML,
		Params: &Params{Open: "<parameter=", Headers: []string{"{key}>"}, Close: "</parameter>", Framed: true, End: "</function>"},
	}}
}

// invoked is a format of invocations with attributes, as MiniMax and DeepSeek write it.
func invoked(begin, tag, attributes, end string) *Calls {
	return &Calls{Begin: begin, End: end, Call: Call{
		Open: "<" + tag + "invoke name=", Headers: []string{`"{name}">`}, Arguments: XML,
		Params: &Params{Open: "<" + tag + "parameter name=", Headers: []string{`"{key}"` + attributes + `>`},
			Close: "</" + tag + "parameter>", End: "</" + tag + "invoke>"},
	}}
}

const (
	deepSeekBegin = "<｜tool▁calls▁begin｜>"
	deepSeekEnd   = "<｜tool▁calls▁end｜>"
)

// catalogue has the known formats. Detect takes the first that reads a template's calls, so a
// format whose texts another one reads, too, comes before that one.
var catalogue = []Format{
	{Name: "harmony", Messages: &Messages{
		Start: "<|start|>", Role: "assistant", Channel: "<|channel|>", Recipient: " to=", Other: []string{"<|constrain|>", "assistant"},
		Body: "<|message|>", Ends: []string{"<|end|>", "<|call|>", "<|return|>"}, Reasoning: "analysis", Tools: "functions.",
	}},
	{Name: "qwen3-coder", Calls: tagged("<tool_call>", "</tool_call>")},
	{Name: "seed-oss", Reasoning: seedThink, Calls: tagged("<seed:tool_call>", "</seed:tool_call>")},
	{Name: "glm-4.5", Calls: &Calls{Call: Call{
		Open: "<tool_call>", Headers: []string{"{name}{tags}"}, Arguments: XML,
		Params: &Params{Open: "<arg_key>", Headers: []string{"{key}</arg_key>\n<arg_value>"}, Close: "</arg_value>", End: "</tool_call>"},
	}}},
	{Name: "hermes", Calls: &Calls{Call: Call{Open: "<tool_call>", Object: nameArguments, Close: "</tool_call>"}}},
	{Name: "kimi-k2", Reasoning: thinkUntil, ID: IndexID, Calls: &Calls{
		Begin: "<|tool_calls_section_begin|>", End: "<|tool_calls_section_end|>", Call: Call{
			Open: "<|tool_call_begin|>", Close: "<|tool_call_end|>", Headers: []string{
				"{id}functions.{name}:{index}{/id}\n<|tool_call_argument_begin|>",
				"{id}{name}:{index}{/id}\n<|tool_call_argument_begin|>",
				"functions.{name}\n<|tool_call_argument_begin|>",
			},
		}}},
	{Name: "deepseek-v3", Reasoning: thinkUntil, Calls: &Calls{Begin: deepSeekBegin, End: deepSeekEnd, Call: Call{
		Open: "<｜tool▁call▁begin｜>", Headers: []string{"function<｜tool▁sep｜>{name}\n```json\n"}, Close: "```<｜tool▁call▁end｜>",
	}}},
	{Name: "deepseek-v3.1", Reasoning: thinkUntil, Calls: &Calls{Begin: deepSeekBegin, End: deepSeekEnd, Call: Call{
		Open: "<｜tool▁call▁begin｜>", Headers: []string{"{name}<｜tool▁sep｜>"}, Close: "<｜tool▁call▁end｜>",
	}}},
	{Name: "deepseek-v3.2", Reasoning: thinkUntil, Calls: invoked("<｜DSML｜function_calls>", "｜DSML｜", ` string="{string}"`, "</｜DSML｜function_calls>")},
	{Name: "deepseek-v4", Reasoning: thinkUntil, Calls: invoked("<｜DSML｜tool_calls>", "｜DSML｜", ` string="{string}"`, "</｜DSML｜tool_calls>")},
	{Name: "minimax-m2", Reasoning: think, Calls: invoked("<minimax:tool_call>", "", "", "</minimax:tool_call>")},
	{Name: "mistral-v11", ID: NineID, Calls: &Calls{Call: Call{
		Open: "[TOOL_CALLS]", Headers: []string{"{name}[CALL_ID]{id}{word}{/id}[ARGS]", "{name}[ARGS]", "{name}{args}"},
	}}},
	{Name: "mistral", ID: NineID, Calls: objects("[TOOL_CALLS]", "", nameArguments)},
	{Name: "gemma-4", Reasoning: gemmaThink, Drop: []string{"<channel|>"}, Calls: &Calls{Call: Call{
		Open: "<|tool_call>", Headers: []string{"call:{name}{args}"}, Arguments: Bare, Close: "<tool_call|>",
	}}},
	{Name: "lfm2", Calls: &Calls{Begin: "<|tool_call_start|>", List: true, End: "<|tool_call_end|>", Call: Call{
		Headers: []string{"{name}("}, Arguments: Python,
	}}},
	{Name: "command-r7b", Reasoning: cohereThink, Drop: []string{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
		Calls: objects("<|START_ACTION|>", "<|END_ACTION|>", &Object{
			Name: []string{"tool_name"}, Arguments: []string{"parameters"}, ID: []string{"tool_call_id"}})},
	{Name: "command-r", Calls: objects("Action:\n```json\n", "```", &Object{Name: []string{"tool_name"}, Arguments: []string{"parameters"}})},
	{Name: "apertus", Reasoning: apertus, Calls: objects("<|tools_prefix|>", "<|tools_suffix|>", &Object{NameIsKey: true})},
	{Name: "apriel", Calls: objects("<tool_calls>", "</tool_calls>", nameArguments)},
	{Name: "hunyuan", Reasoning: think, Drop: []string{"<answer>\n", "\n</answer>"}, Calls: objects("<tool_calls>", "</tool_calls>", nameArguments)},
	{Name: "nemotron-v2", Reasoning: think, Calls: objects("<TOOLCALL>", "</TOOLCALL>", nameArguments)},
	{Name: "phi-4-mini", Calls: objects("<|tool_call|>", "<|/tool_call|>", nameArguments)},
	{Name: "firefunction", Calls: objects(" functools", "", nameArguments)},
	{Name: "gigachat-3.1", Calls: &Calls{Call: Call{Open: "<|function_call|>", Object: nameArguments}}},
	{Name: "gigachat-3", Calls: &Calls{Call: Call{Open: "<|message_sep|>\n\nfunction call<|role_sep|>\n", Object: nameArguments}}},
	{Name: "solar-open", Reasoning: solarThink, Drop: []string{"<|begin|>assistant", "<|content|>", "<|end|>"}, Calls: &Calls{
		Begin: "<|tool_calls|>", End: "<|calls|>", Call: Call{
			Open: "<|tool_call:begin|>", Headers: []string{"{id}{word}{/id}<|tool_call:name|>{name}<|tool_call:args|>"}, Close: "<|tool_call:end|>",
		}}},
	{Name: "functionary-v3.1", Calls: &Calls{Call: Call{Open: "<function=", Headers: []string{"{name}>"}, Close: "</function>"}}},
	{Name: "functionary-v3.2", Calls: &Calls{Call: Call{Open: ">>>", Headers: []string{"{name}\n{args}"}, Content: "all\n"}}},
	{Name: "llama-3", Calls: &Calls{Begin: "<|python_tag|>", AtStart: true, Separator: ";", Call: Call{Object: nameParameters}}},
	{Name: "pythonic", Calls: &Calls{Begin: "<|python_start|>", AtStart: true, List: true, End: "<|python_end|>", Call: Call{
		Headers: []string{"{name}("}, Arguments: Python,
	}}},
	{Name: "json-list", Calls: &Calls{AtStart: true, List: true, Call: Call{Object: nameArguments}}},
}
