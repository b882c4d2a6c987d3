package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/blob"
)

const (
	maxTokenizerFile = 256 << 20 // bytes
	maxSideFile      = 16 << 20
)

const damaged = "the file is damaged or its download incomplete; download it again"

// LoadFS reads the tokenizer of a Hugging Face model directory: tokenizer.json and, where
// they exist, tokenizer_config.json, special_tokens_map.json, added_tokens.json and the
// chat templates. Errors name the file, the field and the remedy.
func LoadFS(fsys fs.FS) (*Tokenizer, error) {
	data, err := readFile(fsys, fileTokenizer, maxTokenizerFile)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("%s is missing; a SentencePiece tokenizer.model alone is not enough: save the tokenizer with transformers' save_pretrained to get it", fileTokenizer)
	}
	if bytes.HasPrefix(data, []byte("version https://git-lfs")) {
		return nil, fmt.Errorf("%s is a Git LFS pointer, not the file itself; run `git lfs pull` in the model's directory", fileTokenizer)
	}
	cfg, err := loadConfig(fsys)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{config: cfg, bos: -1, eos: -1, scratch: newScratchPool()}
	if err := t.read(data); err != nil {
		return nil, fmt.Errorf("%s: %w", fileTokenizer, err)
	}
	t.applyConfig()
	return t, nil
}

// readText is readFile for the files beside tokenizer.json, which must be UTF-8.
func readText(fsys fs.FS, name string) ([]byte, error) {
	data, err := readFile(fsys, name, maxSideFile)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s: the file is not UTF-8 text; download it again", name)
	}
	return data, err
}

// readFile returns the content of a file, nil if there is none.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	data, err := blob.ReadFile(fsys, name, limit, "a tokenizer file")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (t *Tokenizer) read(data []byte) error {
	if len(data) == 0 {
		return errors.New("the file is empty; download it again")
	}
	sections, err := t.readSections(data)
	if notJSON := new(jsonread.Error); errors.As(err, &notJSON) {
		return fmt.Errorf("%w; %s", err, damaged)
	}
	if err != nil {
		return err
	}
	if t.model == nil {
		return errors.New("field model is missing; download it again")
	}
	if err = t.readComponents(sections); err != nil {
		return err
	}
	var added []addedToken
	if err := decodeField(sections["added_tokens"], "added_tokens", &added); err != nil {
		return err
	}
	if err := t.index(added); err != nil {
		return err
	}
	return t.readPostProcessor(sections["post_processor"])
}

// readComponents reads the sections that say what happens to text. The model is there.
func (t *Tokenizer) readComponents(sections map[string]json.RawMessage) error {
	t.shrink = 1
	if err := t.readNormalizers(sections["normalizer"]); err != nil {
		return err
	}
	if err := t.readPreTokenizers(sections["pre_tokenizer"]); err != nil {
		return err
	}
	var err error
	t.decoder, err = parseDecoder(sections["decoder"])
	return err
}

// readSections reads the model and returns the other sections as they are.
func (t *Tokenizer) readSections(data []byte) (map[string]json.RawMessage, error) {
	r, err := jsonread.NewReader(data)
	if err != nil {
		return nil, err
	}
	sections := map[string]json.RawMessage{}
	return sections, r.Document(func(key []byte) (err error) {
		if string(key) != "model" {
			sections[string(key)], err = r.Raw()
			return err
		}
		if t.model != nil {
			return errors.New("model appears twice; use the model's original file")
		}
		t.model, err = parseBPE(r)
		return err
	})
}
