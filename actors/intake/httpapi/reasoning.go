package httpapi

import (
	"encoding/json"
	"maps"
	"slices"
)

// reasoning are the names under which servers let a client choose how much a model thinks.
// What they do depends on the model: they become variables of its chat template if the
// template has them, and have no effect otherwise. Then their values are not read either,
// because clients send them to every model.
type reasoning struct {
	Effort         json.RawMessage `json:"reasoning_effort"` // OpenAI's: a level; none switches thinking off
	EnableThinking json.RawMessage `json:"enable_thinking"`  // a boolean
	Think          json.RawMessage `json:"think"`            // Ollama's: a boolean or a level
	Thinking       json.RawMessage `json:"thinking"`         // a boolean, or DeepSeek's and Anthropic's object
	// Tokens that thoughts may have: Qwen's, vLLM's and llama.cpp's names. -1: as many as come.
	Budget      *int `json:"thinking_budget"`
	TokenBudget *int `json:"thinking_token_budget"`
	LlamaCpp    *int `json:"reasoning_budget"`
}

// varEffort is the variable of chat templates for the level of thinking.
const varEffort = "reasoning_effort"

// varsThinking are the variables that switch thinking on and off. Templates of DeepSeek and
// Granite have the second one.
var varsThinking = []string{"enable_thinking", "thinking"}

// noThinking is the level that switches thinking off.
const noThinking = "none"

// thinking is what a request asks for.
type thinking struct {
	level *string // nil: nothing
	on    *bool   // nil: nothing
	// The parameters of level and on, and those without effect.
	levelFrom, onFrom string
	ignored           []string
}

// templateArgs returns further variables for the model's template, and the names of
// parameters that have no effect with it.
func (req *chatRequest) templateArgs(m *Model) (args map[string]any, ignored []string, err *apiError) {
	args, err = templateArgs(req.TemplateArgs.value)
	if err != nil {
		return nil, nil, err
	}
	lacks := func(variable string) bool { return m.Template == nil || !m.Template.HasVariable(variable) }
	levels, switches := !lacks(varEffort), slices.DeleteFunc(slices.Clone(varsThinking), lacks)
	t, err := req.reasoning.read(levels, len(switches) > 0)
	if err != nil {
		return nil, nil, err
	}
	set := map[string]any{}
	if t.level != nil && levels {
		set[varEffort] = *t.level
	}
	if t.level != nil && t.on == nil {
		t.on = new(*t.level != noThinking)
	} else if t.level != nil && !levels {
		t.ignored = append(t.ignored, t.levelFrom)
	}
	if t.on != nil {
		for _, variable := range switches {
			set[variable] = *t.on
		}
	}
	maps.Copy(set, args) // chat_template_kwargs are more exact
	return set, t.ignored, nil
}

// read reads the parameters for a template that has the variable of levels, a switch, both
// or neither.
func (r *reasoning) read(levels, switches bool) (all thinking, err *apiError) {
	for _, p := range []struct {
		name  string
		raw   json.RawMessage
		level bool // may be one
		read  func(raw []byte) (thinking, *apiError)
	}{
		{"reasoning_effort", r.Effort, true, readEffort}, {"enable_thinking", r.EnableThinking, false, readSwitch},
		{"think", r.Think, true, readThink}, {"thinking", r.Thinking, false, readThinking},
	} {
		if isNull(p.raw) {
			continue
		}
		if !switches && !(levels && p.level) {
			all.ignored = append(all.ignored, p.name)
			continue
		}
		one, err := p.read(p.raw)
		if err == nil {
			err = differ(all.levelFrom, all.level, p.name, one.level)
		}
		if err == nil {
			err = differ(all.onFrom, all.on, p.name, one.on)
		}
		if err != nil {
			return all, err
		}
		all.ignored = append(all.ignored, one.ignored...)
		switch {
		case one.level != nil:
			all.level, all.levelFrom = one.level, p.name
		case one.on != nil && switches:
			all.on, all.onFrom = one.on, p.name
		case one.on != nil:
			all.ignored = append(all.ignored, p.name)
		}
	}
	return all, nil
}

func readEffort(raw []byte) (t thinking, err *apiError) {
	if t.level = readSmall[string](raw); t.level == nil {
		return t, invalid("reasoning_effort", `reasoning_effort must be a string such as "none", "low", "medium" or "high"`)
	}
	return t, nil
}

func readSwitch(raw []byte) (t thinking, err *apiError) {
	if t.on = readSmall[bool](raw); t.on == nil {
		return t, invalid("enable_thinking", "enable_thinking must be true or false")
	}
	return t, nil
}

func readThink(raw []byte) (t thinking, err *apiError) {
	t.on, t.level = readSmall[bool](raw), readSmall[string](raw)
	if t.on == nil && (t.level == nil || !slices.Contains([]string{noThinking, "low", "medium", "high"}, *t.level)) {
		return t, invalid("think", `think must be true or false, or one of "none", "low", "medium" and "high"`)
	}
	return t, nil
}

// budget is how many tokens thoughts may have, and the parameter that says so; nil: no bound.
func (r *reasoning) budget() (tokens *int, name string, err *apiError) {
	all := []struct {
		name  string
		value *int
	}{{"thinking_budget", r.Budget}, {"thinking_token_budget", r.TokenBudget}, {"reasoning_budget", r.LlamaCpp}}
	if object := readSmall[map[string]json.RawMessage](r.Thinking); object != nil && !isNull((*object)[budgetMember]) {
		one := readSmall[int]((*object)[budgetMember])
		if one == nil {
			return nil, "", invalid("thinking."+budgetMember, "thinking.%s must be a number of tokens", own(budgetMember))
		}
		all = append(all, struct {
			name  string
			value *int
		}{"thinking." + budgetMember, one})
	}
	for _, one := range all {
		if err := differ(name, tokens, one.name, one.value); err != nil {
			return nil, "", err
		}
		if one.value != nil {
			tokens, name = one.value, one.name
		}
	}
	switch {
	case tokens == nil || *tokens == -1:
		return nil, name, nil
	case *tokens < 0 || *tokens > unlimitedTokens:
		return nil, "", outside(name, *tokens, -1, unlimitedTokens)
	}
	return tokens, name, nil
}

const budgetMember = "budget_tokens"

// readThinking reads a boolean or an object. Only the type of the object has an effect here.
func readThinking(raw []byte) (t thinking, err *apiError) {
	if t.on = readSmall[bool](raw); t.on != nil {
		return t, nil
	}
	object := readSmall[map[string]json.RawMessage](raw)
	if object == nil {
		return t, invalid("thinking", `thinking must be true or false, or an object such as {"type": "enabled"}`)
	}
	kind := (*object)["type"]
	delete(*object, "type")
	delete(*object, budgetMember)
	for _, name := range slices.Sorted(maps.Keys(*object)) {
		t.ignored = append(t.ignored, "thinking."+name)
	}
	if isNull(kind) {
		return t, nil
	}
	switch word := readSmall[string](kind); given(word, "") {
	case "enabled", "adaptive":
		t.on = new(true)
	case "disabled":
		t.on = new(false)
	default:
		return t, invalid("thinking.type", "thinking.type is %s; it must be enabled or disabled", clipJSON(kind))
	}
	return t, nil
}

// readSmall reads a value of at most 4096 bytes; nil if it has another type or is larger.
func readSmall[T any](raw []byte) *T {
	var value T
	if len(raw) > 4096 || json.Unmarshal(raw, &value) != nil {
		return nil
	}
	return &value
}
