package output

import "github.com/troupe-engine/troupe/model/chat"

// Prepare makes the messages of a conversation what the template wants: the arguments of calls
// as an object or a text, an empty content beside calls as "" or null, thoughts under its key. Messages is a value of chat.DecodeJSON and
// stays as it is. What does not look like messages is returned as it came.
func (h History) Prepare(messages any) any {
	list, ok := messages.(*chat.List)
	if !ok {
		return messages
	}
	prepared := make([]any, len(list.Items()))
	for i, m := range list.Items() {
		prepared[i] = h.message(m)
	}
	return chat.NewList(prepared)
}

func (h History) message(message any) any {
	m, ok := message.(*chat.Dict)
	if !ok {
		return message
	}
	role, _ := m.Get("role")
	if role != "assistant" {
		return message
	}
	made := chat.NewDict(m.Len())
	for key, value := range m.All() {
		switch key {
		case "tool_calls":
			value = each(value, func(call any) any { return replace(call, "function", h.function) })
		case "reasoning_content", "reasoning", "thinking":
			if text, _ := value.(string); h.Reasoning == "content" || text == "" {
				continue
			}
			if h.Reasoning != "" {
				key = h.Reasoning
			}
		case "content":
			value = h.content(m, h.besideCalls(m, value))
		}
		made.Set(key, value)
	}
	return made
}

// besideCalls is the content of a message. Beside calls an empty one is "", and any is null
// where the template writes calls only then: it would leave them out.
func (h History) besideCalls(m *chat.Dict, content any) any {
	calls, _ := m.Get("tool_calls")
	if list, ok := calls.(*chat.List); !ok || len(list.Items()) == 0 {
		return content
	}
	switch {
	case h.NullContent:
		return nil
	case content == nil:
		return ""
	}
	return content
}

// content is the content with the thoughts in it, if the template wants them there.
func (h History) content(m *chat.Dict, content any) any {
	text, isText := content.(string)
	if h.Reasoning != "content" || !isText && content != nil {
		return content
	}
	for _, key := range []string{"reasoning_content", "reasoning", "thinking"} {
		v, _ := m.Get(key)
		if thought, _ := v.(string); thought != "" {
			return chat.NewList([]any{block("thinking", thought), block("text", text)})
		}
	}
	return content
}

// block is a part of a content.
func block(kind, text string) *chat.Dict {
	d := chat.NewDict(2)
	d.Set("type", kind)
	d.Set(kind, text)
	return d
}

func (h History) function(function any) any {
	return replace(function, "arguments", func(arguments any) any {
		text, isText := arguments.(string)
		switch {
		case isText && !h.ArgumentsText:
			if v, err := chat.DecodeJSON([]byte(text)); err == nil {
				return v
			}
		case !isText && h.ArgumentsText:
			if text, err := chat.JSON(arguments); err == nil {
				return text
			}
		}
		return arguments
	})
}

func each(value any, change func(any) any) any {
	list, ok := value.(*chat.List)
	if !ok {
		return value
	}
	made := make([]any, len(list.Items()))
	for i, v := range list.Items() {
		made[i] = change(v)
	}
	return chat.NewList(made)
}

// replace returns a dict with one value changed.
func replace(value any, key string, change func(any) any) any {
	d, ok := value.(*chat.Dict)
	if !ok {
		return value
	}
	made := chat.NewDict(d.Len())
	for k, v := range d.All() {
		if k == key {
			v = change(v)
		}
		made.Set(k, v)
	}
	return made
}
