package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const defaultTemplate = "default"

// config has the contents of the files beside tokenizer.json.
type config struct {
	class          string // tokenizer_class
	bos, eos       string
	special        []string // every token named as special
	addBOS, addEOS *bool    // nil if not set
	templates      map[string]string
	added          []addedToken // of added_tokens_decoder
	plain          []addedToken // of added_tokens.json, which has no flags
}

// specialFields are the fields that name one special token.
var specialFields = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

func loadConfig(files map[string][]byte) (config, error) {
	c := config{templates: map[string]string{}}
	// tokenizer_config.json comes last: it wins if both name a token.
	for _, name := range []string{fileSpecialTokens, fileConfig} {
		data, found, err := text(files, name)
		if err != nil {
			return c, err
		}
		if !found {
			continue
		}
		if err := c.read(data); err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := c.readAddedTokens(files); err != nil {
		return c, err
	}
	return c, c.readTemplates(files)
}

func (c *config) read(data []byte) error {
	var f map[string]json.RawMessage
	if err := decodeJSON(data, &f); err != nil {
		return err
	}
	for _, name := range specialFields {
		tok, err := namedToken(f[name], name)
		if err != nil {
			return err
		}
		switch {
		case tok == "":
			continue
		case name == "bos_token":
			c.bos = tok
		case name == "eos_token":
			c.eos = tok
		}
		c.special = append(c.special, tok)
	}
	for _, name := range []string{"additional_special_tokens", "extra_special_tokens"} {
		if err := c.readExtraSpecial(f[name], name); err != nil {
			return err
		}
	}
	for name, into := range map[string]any{
		"tokenizer_class": &c.class, "add_bos_token": &c.addBOS, "add_eos_token": &c.addEOS,
	} {
		if err := decodeField(f[name], name, into); err != nil {
			return err
		}
	}
	if err := c.readConfigTemplates(f["chat_template"]); err != nil {
		return err
	}
	return c.readAddedDecoder(f["added_tokens_decoder"])
}

// readExtraSpecial reads a list of further special tokens. The newer field may
// also be an object of name to token.
func (c *config) readExtraSpecial(raw json.RawMessage, name string) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil && !isNull(raw) {
		var named map[string]json.RawMessage
		if json.Unmarshal(raw, &named) != nil {
			return fmt.Errorf("%s must be a list of tokens; use the model's original file", name)
		}
		for _, key := range slices.Sorted(maps.Keys(named)) {
			list = append(list, named[key])
		}
	}
	for i, raw := range list {
		tok, err := namedToken(raw, fmt.Sprintf("%s[%d]", name, i))
		if err != nil {
			return err
		}
		if tok != "" {
			c.special = append(c.special, tok)
		}
	}
	return nil
}

// namedToken reads null, "token" or {"content": "token", …}.
func namedToken(raw json.RawMessage, at string) (string, error) {
	var text string
	if isNull(raw) || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var tok struct{ Content *string }
	if json.Unmarshal(raw, &tok) != nil || tok.Content == nil {
		return "", fmt.Errorf("%s: must be a token or an object with its content; use the model's original file", at)
	}
	return *tok.Content, nil
}

// readAddedDecoder reads {"id": {"content": …, flags}}.
func (c *config) readAddedDecoder(raw json.RawMessage) error {
	var f map[string]addedToken
	if err := decodeField(raw, "added_tokens_decoder", &f); err != nil {
		return err
	}
	for key, tok := range f {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return fmt.Errorf("added_tokens_decoder[%s]: the id is not a whole number; use the model's original file", clip(key))
		}
		if err := checkToken(tok.Content, id); err != nil {
			return fmt.Errorf("added_tokens_decoder[%s]: %w", clip(key), err)
		}
		tok.ID = id
		c.added = append(c.added, tok)
	}
	slices.SortFunc(c.added, func(a, b addedToken) int { return int(a.ID - b.ID) })
	return nil
}

// readAddedTokens reads the older {"content": id} file; its tokens are plain
// unless another file has flags for them.
func (c *config) readAddedTokens(files map[string][]byte) error {
	data, found, err := text(files, fileAddedTokens)
	if err != nil || !found {
		return err
	}
	var f map[string]int64
	if err := decodeJSON(data, &f); err != nil {
		return fmt.Errorf("%s: %w", fileAddedTokens, err)
	}
	for _, content := range slices.Sorted(maps.Keys(f)) {
		if err := checkToken(content, f[content]); err != nil {
			return fmt.Errorf("%s[%s]: %w", fileAddedTokens, clip(content), err)
		}
		c.plain = append(c.plain, addedToken{ID: f[content], Content: content, Normalized: true})
	}
	return nil
}

// applyConfig sets the ends of a text according to the other files.
func (t *Tokenizer) applyConfig() {
	// transformers makes a new post-processor for these classes.
	remade := slices.Contains([]string{"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"}, strings.TrimSuffix(t.config.class, "Fast"))
	for _, end := range []struct {
		text   string
		add    *bool
		into   *int32
		around *[]int32
	}{
		{t.config.bos, t.config.addBOS, &t.bos, &t.around.before},
		{t.config.eos, t.config.addEOS, &t.eos, &t.around.after},
	} {
		id, ok := t.TokenID(end.text)
		if !ok || end.text == "" {
			continue
		}
		*end.into = id
		if remade && end.add != nil {
			*end.around = nil
			if *end.add {
				*end.around = []int32{id}
			}
		}
	}
}
