package httpapi

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
)

// What a message must have, and a part of its content.
type (
	messageHead struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	contentPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
)

// checkMessages checks the messages and makes them what templates expect: content
// parts are joined to one text, and the role developer becomes system, its older
// name.
func checkMessages(value any) *apiError {
	list, isList := value.(*chat.List)
	switch {
	case value == nil:
		return invalid("messages", "messages is missing; send at least one message")
	case !isList:
		return invalid("messages", "messages must be an array of objects")
	case len(list.Items()) == 0:
		return invalid("messages", "messages is empty; send at least one message")
	}
	for i, one := range list.Items() {
		if err := oneMessage(one, fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

var roles = map[string]bool{"system": true, "user": true, "assistant": true, "tool": true, "developer": true, "function": true}

// oneMessage checks one message and rewrites what templates do not know. It must
// have a role and content; everything else is the template's business.
func oneMessage(value any, where string) *apiError {
	message, isDict := value.(*chat.Dict)
	var role string
	isText := false
	if isDict {
		given, _ := message.Get("role")
		role, isText = given.(string)
	}
	switch {
	case !isText:
		return invalid(where, "%s must be an object with a role and content", where)
	case !roles[role]:
		return invalid(where+".role", "%s.role is %q; it must be system, developer, user, assistant, tool or function", where, clip(role, 64))
	case role == "developer":
		message.Set("role", "system")
	}
	content, _ := message.Get("content")
	switch content := content.(type) {
	case string:
	case nil:
		if role != "assistant" {
			return invalid(where+".content", "%s.content is missing", where)
		}
	case *chat.List:
		text, err := joinParts(content.Items(), where+".content")
		if err != nil {
			return err
		}
		message.Set("content", text)
	default:
		return invalid(where+".content", "%s.content must be a string or an array of text parts", where)
	}
	return nil
}

// joinParts joins text parts; pictures and sound are refused by name.
func joinParts(parts []any, where string) (string, *apiError) {
	var text strings.Builder
	for i, value := range parts {
		part, isDict := value.(*chat.Dict)
		if !isDict {
			return "", invalid(where, "%s must be a string or an array of text parts", where)
		}
		kind, _ := part.Get("type")
		given, _ := part.Get("text")
		one, isText := given.(string)
		if kind != "text" || !isText {
			name, _ := kind.(string)
			return "", invalid(where, `%s[%d] has the type %q; only text is supported: {"type": "text", "text": "…"}`, where, own(i), clip(name, 64))
		}
		text.WriteString(one)
	}
	return text.String(), nil
}

// templateArgs reads chat_template_kwargs, further variables for the template.
func templateArgs(value any) (map[string]any, *apiError) {
	if value == nil {
		return nil, nil
	}
	given, isDict := value.(*chat.Dict)
	if !isDict {
		return nil, invalid("chat_template_kwargs", "chat_template_kwargs must be an object")
	}
	args := make(map[string]any, given.Len())
	for name, v := range given.All() {
		if chat.Reserved(name) {
			return nil, invalid("chat_template_kwargs", "chat_template_kwargs.%s is set by the server and cannot be replaced; leave it out", name)
		}
		args[name] = v
	}
	return args, nil
}
