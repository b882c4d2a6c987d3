package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// toolParsers are the names of tool parsers in SGLang and vLLM, with "-" for "_".
var toolParsers = map[string]string{
	"hermes": "hermes", "qwen": "hermes", "qwen25": "hermes", "qwen3": "hermes", "longcat": "hermes",
	"granite": "phi-4-mini", "granite4": "hermes",
	"qwen3-coder": "qwen3-coder", "qwen3-xml": "qwen3-coder", "step3p5": "qwen3-coder", "nemotron-3": "qwen3-coder",
	"seed-oss": "seed-oss",
	"glm":      "glm-4.5", "glm45": "glm-4.5", "glm47": "glm-4.5",
	"kimi-k2": "kimi-k2", "deepseekv3": "deepseek-v3", "deepseek-v3": "deepseek-v3", "deepseek-r1": "deepseek-v3",
	"deepseekv31": "deepseek-v3.1", "deepseek-v31": "deepseek-v3.1",
	"deepseekv32": "deepseek-v3.2", "deepseek-v32": "deepseek-v3.2", "deepseekv4": "deepseek-v4", "deepseek-v4": "deepseek-v4",
	"gpt-oss": "harmony", "openai": "harmony", "minimax-m2": "minimax-m2", "minimax": "minimax-m2",
	"mistral": "mistral", "mistral-v11": "mistral-v11",
	"llama3": "llama-3", "llama3-json": "llama-3", "llama4-json": "llama-3",
	"pythonic": "pythonic", "llama4-pythonic": "pythonic", "lfm2": "lfm2",
	"cohere": "command-r7b", "cohere2": "command-r7b", "command-r": "command-r",
	"hunyuan-a13b": "hunyuan", "jamba": "apriel", "apriel": "apriel", "phi4-mini-json": "phi-4-mini",
	"xlam": "json-list", "gigachat3": "gigachat-3", "functionary": "functionary-v3.1", "gemma4": "gemma-4",
}

// reasoningParsers are the names of reasoning parsers in SGLang and vLLM, with "-" for "_".
var reasoningParsers = map[string]Reasoning{
	"qwen3": think, "deepseek-v3": think, "glm45": think, "hunyuan-a13b": think, "nano-v3": think, "minimax-m2": think, "minimax": think,
	"deepseek-r1": implied(think), "qwen3-thinking": implied(think), "step3": implied(think), "minimax-append-think": implied(think),
	"kimi-k2": thinkUntil, "seed-oss": seedThink, "mistral": mistral, "cohere": cohereThink, "gemma4": gemmaThink,
	"granite": granite32, "kimi": {Open: "◁think▷", Close: "◁/think▷"}, "none": {},
}

func implied(r Reasoning) Reasoning {
	r.Implied = true
	return r
}

// ToolParsers and ReasoningParsers list the names that Named knows.
func ToolParsers() []string {
	names := slices.Collect(maps.Keys(toolParsers))
	for _, f := range catalogue {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ReasoningParsers is the list of the names of reasoning parsers.
func ReasoningParsers() []string {
	return slices.Sorted(maps.Keys(reasoningParsers))
}

// Named replaces the calls and the reasoning of a format by those of named parsers. An empty name
// leaves the format's own. "-" and "_" are the same. The error lists the names.
func Named(f Format, toolParser, reasoningParser string) (Format, error) {
	if name := plain(toolParser); name != "" {
		if known, ok := toolParsers[name]; ok {
			name = known
		}
		at := slices.IndexFunc(catalogue, func(f Format) bool { return f.Name == name })
		if at < 0 {
			return f, fmt.Errorf("there is no tool parser %q; the parsers are %s", toolParser, strings.Join(ToolParsers(), ", "))
		}
		named := catalogue[at]
		if f.Name == name {
			named = f // it knows what the template writes around calls
		}
		named.History = f.History
		if f.Reasoning.Close != "" && named.Messages == nil {
			named.Reasoning = f.Reasoning
		}
		f = named
	}
	if name := plain(reasoningParser); name != "" && (name != "gpt-oss" && name != "openai-gptoss" || f.Messages == nil) {
		r, ok := reasoningParsers[name]
		if !ok {
			return f, fmt.Errorf("there is no reasoning parser %q; the parsers are %s", reasoningParser, strings.Join(ReasoningParsers(), ", "))
		}
		f.Reasoning = r
	}
	return f, nil
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// ValidName reports whether every format can write a call of a tool of this name.
func ValidName(name string) bool {
	for i := 0; i < len(name); i++ {
		if !inField("name", name[i]) || name[i] >= 0x7f {
			return false
		}
	}
	return name != ""
}
