package node

import (
	"fmt"
	"os"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Template returns the chat template of the settings, else the model's; nil if none.
func Template(c *configs.Config, files model.Files, tok *tokenizer.Tokenizer) (*chat.Template, error) {
	if c.ChatTemplate != "" {
		t, err := TemplateFile(c.ChatTemplate)
		return t, c.Explain(configs.About(err, "chat-template"))
	}
	source := tok.ChatTemplates()["default"]
	if source == "" {
		return nil, nil
	}
	return parseTemplate(files.ChatTemplate(), source)
}

// toolTemplate returns the template that a model's files have for conversations with tools;
// nil if the other one knows them.
func toolTemplate(name string, tok *tokenizer.Tokenizer) (*chat.Template, error) {
	source := tok.ChatTemplates()["tool_use"]
	if source == "" {
		return nil, nil
	}
	return parseTemplate(name+" (tool_use)", source)
}

func TemplateFile(file string) (*chat.Template, error) {
	text, err := templateText(file)
	if err != nil {
		return nil, err
	}
	return parseTemplate(file, text)
}

func templateText(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("chat-template: %w", err)
	}
	if len(text) == 0 {
		return "", fmt.Errorf("chat-template: %s is empty; give a Jinja template, or leave the setting out for the model's own", file)
	}
	return string(text), nil
}

func parseTemplate(name, source string) (*chat.Template, error) {
	t, err := chat.Parse(name, source)
	if err != nil {
		return nil, fmt.Errorf("%w; use another one with --chat-template FILE", err)
	}
	return t, nil
}
