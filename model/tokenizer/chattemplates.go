package tokenizer

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
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
func (c *config) readTemplates(fsys fs.FS) error {
	// The folder is optional, and an unreadable one holds no template.
	files, _ := fs.Glob(fsys, dirChatTemplates+"/*"+templateExtension)
	for _, file := range append(files, fileChatTemplate) { // last, so that it wins
		if info, err := fs.Stat(fsys, file); err == nil && info.IsDir() {
			continue
		}
		name := strings.TrimSuffix(path.Base(file), templateExtension)
		if file == fileChatTemplate {
			name = defaultTemplate
		}
		data, err := readText(fsys, file)
		if err != nil {
			return err
		}
		if data != nil {
			c.templates[name] = string(data)
		}
	}
	return nil
}
