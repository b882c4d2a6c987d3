package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
)

// messageHead is what every message must have; everything else is the
// template's business.
type messageHead struct {
	Role    *string         `json:"role"`
	Content json.RawMessage `json:"content"`
}

// chatMessages checks the messages and gives them to the template in the
// client's own words: content parts are joined to text, the role developer is
// system's newer name.
func chatMessages(raw json.RawMessage) (any, *apiError) {
	var list []json.RawMessage
	if isNull(raw) {
		return nil, invalid("messages", "messages is missing; send at least one message")
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, invalid("messages", "messages must be an array of objects")
	}
	if len(list) == 0 {
		return nil, invalid("messages", "messages is empty; send at least one message")
	}
	for i, one := range list {
		rewritten, err := oneMessage(one, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		list[i] = rewritten
	}
	joined, _ := json.Marshal(list)
	value, err := chat.DecodeJSON(joined)
	if err != nil {
		return nil, invalid("messages", "messages cannot be read: %v", err)
	}
	return value, nil
}

var roles = map[string]bool{"system": true, "user": true, "assistant": true, "tool": true, "developer": true, "function": true}

// oneMessage checks one message and rewrites what templates do not know.
func oneMessage(raw json.RawMessage, where string) (json.RawMessage, *apiError) {
	var head messageHead
	if json.Unmarshal(raw, &head) != nil || head.Role == nil {
		return nil, invalid(where, "%s must be an object with a role and content", where)
	}
	if !roles[*head.Role] {
		return nil, invalid(where+".role", "%s.role is %q, it must be system, developer, user, assistant or tool", where, clip(*head.Role, 64))
	}
	replace := map[string]any{}
	if *head.Role == "developer" {
		replace["role"] = "system"
	}
	switch {
	case isNull(head.Content):
		if *head.Role != "assistant" {
			return nil, invalid(where+".content", "%s.content is missing", where)
		}
	case head.Content[0] == '[':
		text, err := joinParts(head.Content, where+".content")
		if err != nil {
			return nil, err
		}
		replace["content"] = text
	case head.Content[0] != '"':
		return nil, invalid(where+".content", "%s.content must be a string or an array of text parts", where)
	}
	if len(replace) == 0 {
		return raw, nil
	}
	return replaceKeys(raw, replace), nil
}

// contentPart is a part of a message's content.
type contentPart struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// joinParts joins text parts; pictures and sound are refused by name.
func joinParts(raw json.RawMessage, where string) (string, *apiError) {
	var parts []contentPart
	if json.Unmarshal(raw, &parts) != nil {
		return "", invalid(where, "%s must be a string or an array of text parts", where)
	}
	var text strings.Builder
	for i, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return "", invalid(where, `%s[%d] has the type %q; this model reads text only, {"type": "text", "text": "…"}`, where, own(i), clip(p.Type, 64))
		}
		text.WriteString(*p.Text)
	}
	return text.String(), nil
}

// replaceKeys rewrites values of a JSON object and keeps the order of its keys,
// which a template can print.
func replaceKeys(raw json.RawMessage, values map[string]any) json.RawMessage {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := d.Token(); err != nil {
		return raw
	}
	var b strings.Builder
	b.WriteByte('{')
	for first := true; d.More(); first = false {
		key, err := d.Token()
		if err != nil {
			return raw
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return raw
		}
		if v, ok := values[key.(string)]; ok {
			value, _ = json.Marshal(v)
		}
		name, _ := json.Marshal(key)
		if !first {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

// templateArgs reads chat_template_kwargs, further variables for the template.
func templateArgs(raw json.RawMessage) (map[string]any, *apiError) {
	if isNull(raw) {
		return nil, nil
	}
	var byName map[string]json.RawMessage
	if json.Unmarshal(raw, &byName) != nil {
		return nil, invalid("chat_template_kwargs", "chat_template_kwargs must be an object")
	}
	args := make(map[string]any, len(byName))
	for name, value := range byName {
		if chat.Reserved(name) {
			return nil, invalid("chat_template_kwargs", "chat_template_kwargs.%s is set by the server and cannot be replaced; leave it out", name)
		}
		v, err := chat.DecodeJSON(value)
		if err != nil {
			return nil, invalid("chat_template_kwargs", "chat_template_kwargs.%s cannot be read: %v", name, err)
		}
		args[name] = v
	}
	return args, nil
}
