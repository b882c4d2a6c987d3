package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// readConfigTemplates reads "template" or [{"name": …, "template": …}].
func (c *config) readConfigTemplates(raw json.RawMessage) error {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		c.templates[defaultTemplate] = *text
		return nil
	}
	var list []struct{ Name, Template string }
	if err := decodeField(raw, "chat_template: must be a string or a list of {name, template}", &list); err != nil {
		return err
	}
	for i, t := range list {
		if t.Name == "" {
			return fmt.Errorf("chat_template: [%d].name is missing; use the model's original file", i)
		}
		c.templates[t.Name] = t.Template
	}
	return nil
}

// readTemplates reads the templates that are files of their own.
func (c *config) readTemplates(files map[string][]byte) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return !isTemplate(name) })
	for _, file := range append(names, fileChatTemplate) { // last, so that it wins
		name := strings.TrimSuffix(path.Base(file), templateExtension)
		if file == fileChatTemplate {
			name = defaultTemplate
		}
		data, found, err := text(files, file)
		if err != nil {
			return err
		}
		if found {
			c.templates[name] = string(data)
		}
	}
	return nil
}
