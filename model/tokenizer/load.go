package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/troupe-engine/troupe/internal/jsonread"
)

const damaged = "the file is damaged or its download incomplete; download it again"

// LoadFS reads the tokenizer of a Hugging Face model directory: Load of what ReadFS reads.
func LoadFS(fsys fs.FS) (*Tokenizer, error) {
	files, err := ReadFS(fsys)
	if err != nil {
		return nil, err
	}
	return Load(files)
}

// Load makes a tokenizer of files like those that ReadFS returns. They may be of any origin,
// and must not be changed afterwards. Errors name the file, the field and the remedy.
func Load(files map[string][]byte) (*Tokenizer, error) {
	if err := checkFiles(files); err != nil {
		return nil, err
	}
	data := files[fileTokenizer]
	if bytes.HasPrefix(data, []byte("version https://git-lfs")) {
		return nil, fmt.Errorf("%s is a Git LFS pointer, not the file itself; run `git lfs pull` in the model's directory", fileTokenizer)
	}
	cfg, err := loadConfig(files)
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
