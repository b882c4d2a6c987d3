package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/blob"
)

const (
	fileTokenizer     = "tokenizer.json"
	fileConfig        = "tokenizer_config.json"
	fileSpecialTokens = "special_tokens_map.json"
	fileAddedTokens   = "added_tokens.json"
	fileChatTemplate  = "chat_template.jinja"
	dirChatTemplates  = "additional_chat_templates"
	templateExtension = ".jinja"

	moreTemplates = dirChatTemplates + "/*" + templateExtension
)

// fixed are the files with names of their own.
var fixed = []string{fileTokenizer, fileSpecialTokens, fileConfig, fileAddedTokens, fileChatTemplate}

const (
	maxTokenizerFile = 256 << 20 // bytes
	maxSideFile      = 16 << 20
)

func maxBytes(name string) int64 {
	if name == fileTokenizer {
		return maxTokenizerFile
	}
	return maxSideFile
}

// ReadFS reads what Load needs of a Hugging Face model directory: tokenizer.json and, where
// they exist, tokenizer_config.json, special_tokens_map.json, added_tokens.json and the chat
// templates. It returns them by their path in the directory. Errors name the file.
func ReadFS(fsys fs.FS) (map[string][]byte, error) {
	// The folder is optional, and an unreadable one holds no template.
	names, _ := fs.Glob(fsys, moreTemplates)
	files := map[string][]byte{}
	for _, name := range slices.Concat(fixed, names) {
		if info, err := fs.Stat(fsys, name); err == nil && info.IsDir() && path.Ext(name) == templateExtension {
			continue
		}
		data, err := blob.ReadFile(fsys, name, maxBytes(name), "a tokenizer file")
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			files[name] = data
		}
	}
	return files, checkFiles(files)
}

// checkFiles refuses what ReadFS does not return.
func checkFiles(files map[string][]byte) error {
	if _, ok := files[fileTokenizer]; !ok {
		return fmt.Errorf("%s is missing; a SentencePiece tokenizer.model alone is not enough: save the tokenizer with transformers' save_pretrained to get it", fileTokenizer)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !slices.Contains(fixed, name) && !isTemplate(name) {
			return fmt.Errorf("%s is not a file of a tokenizer; use the files that the model's publisher made", clip(name))
		}
		if limit := maxBytes(name); int64(len(files[name])) > limit {
			return fmt.Errorf("%s is larger than %d MiB; this is not a tokenizer file; download it again", name, limit>>20)
		}
	}
	return nil
}

// isTemplate reports whether a file is one of the further chat templates.
func isTemplate(name string) bool {
	is, _ := path.Match(moreTemplates, name) // the pattern is well formed
	return is
}

// text returns a file beside tokenizer.json, which must be UTF-8.
func text(files map[string][]byte, name string) (data []byte, found bool, err error) {
	data, found = files[name]
	if !utf8.Valid(data) {
		return nil, false, fmt.Errorf("%s: the file is not UTF-8 text; download it again", name)
	}
	return data, found, nil
}
