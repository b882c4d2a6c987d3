package httpapi

import "maps"

// reasoning are the names under which servers let a client choose how much a model thinks.
// What they do depends on the model: they become variables of its chat template if the
// template has them, and have no effect otherwise.
type reasoning struct {
	Effort         *string `json:"reasoning_effort"` // OpenAI's; none switches thinking off
	EnableThinking *bool   `json:"enable_thinking"`
	Think          *bool   `json:"think"` // Ollama's
	Thinking       *struct {
		Type *string `json:"type"` // DeepSeek's: enabled or disabled
	} `json:"thinking"`
}

// Variables of chat templates.
const (
	varEffort   = "reasoning_effort"
	varThinking = "enable_thinking"
)

// templateArgs returns further variables for the model's template, and the names of
// parameters that the template does not have.
func (req *chatRequest) templateArgs(m *Model) (args map[string]any, ignored []string, err *apiError) {
	args, err = templateArgs(req.TemplateArgs.value)
	if err != nil {
		return nil, nil, err
	}
	on, name, err := req.thinking()
	if err != nil {
		return nil, nil, err
	}
	set := maps.Clone(args)
	if set == nil {
		set = map[string]any{}
	}
	has := func(variable string) bool { return m.Template != nil && m.Template.Mentions(variable) }
	if effort := req.Effort; effort != nil {
		switch {
		case has(varEffort):
			set[varEffort] = *effort
		case has(varThinking) && on == nil:
			set[varThinking] = *effort != "none"
		default:
			ignored = append(ignored, "reasoning_effort")
		}
	}
	if on != nil {
		if has(varThinking) {
			set[varThinking] = *on
		} else {
			ignored = append(ignored, name)
		}
	}
	maps.Copy(set, args) // chat_template_kwargs are more exact
	return set, ignored, nil
}

// thinking is the switch and the name under which it was sent; nil if it was not.
func (r *reasoning) thinking() (on *bool, name string, err *apiError) {
	var typed *bool
	if r.Thinking != nil && r.Thinking.Type != nil {
		switch kind := *r.Thinking.Type; kind {
		case "enabled", "adaptive":
			typed = new(true)
		case "disabled":
			typed = new(false)
		default:
			return nil, "", invalid("thinking.type", "thinking.type is %q; it must be enabled or disabled", clip(kind, 64))
		}
	}
	for _, one := range []struct {
		name  string
		value *bool
	}{{"enable_thinking", r.EnableThinking}, {"think", r.Think}, {"thinking", typed}} {
		if one.value == nil {
			continue
		}
		if err := differ("", name, on, one.name, one.value); err != nil {
			return nil, "", err
		}
		on, name = one.value, one.name
	}
	return on, name, nil
}
