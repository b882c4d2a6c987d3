package model

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/troupe-engine/troupe/model/config"
	"github.com/troupe-engine/troupe/model/gguf"
	"github.com/troupe-engine/troupe/model/gguf/hf"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/model/weights"
)

const GGUFExtension = ".gguf"

// Files is the place of a model: a directory in Hugging Face's layout, or a GGUF
// file. A plain value; nothing is open.
type Files struct {
	fsys fs.FS
	path string // for errors, empty for a file system that is not a directory of the system
	gguf string // the file in fsys, empty for a directory
}

// At finds a model of the operating system: the path of a directory, or of a
// GGUF file; of one in several parts, any part.
func At(path string) (Files, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return Files{}, fmt.Errorf("model %s: %w; give the path of a Hugging Face model directory or of a GGUF file, or a name on Hugging Face's hub such as Qwen/Qwen2.5-0.5B-Instruct", path, err)
	case st.IsDir():
		return Files{fsys: os.DirFS(path), path: path}, nil
	case filepath.Ext(path) == GGUFExtension || st.Mode().IsRegular() && isGGUF(path):
		return Files{fsys: os.DirFS(filepath.Dir(path)), path: path, gguf: filepath.Base(path)}, nil
	}
	return Files{}, fmt.Errorf("model %s is not a GGUF file; give a GGUF file, or the directory that holds config.json", path)
}

// isGGUF reads the first bytes of a file whose name does not tell its format, as
// in the stores of programs that name files by their hash.
func isGGUF(path string) bool {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(gguf.Magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == gguf.Magic
}

// Name is the model's default name: that of its directory or file, without the
// endings of GGUF files and of their parts.
func (f Files) Name() string {
	path, err := filepath.Abs(f.path)
	if err != nil {
		path = f.path
	}
	name := strings.TrimSuffix(filepath.Base(path), GGUFExtension)
	return partSuffix.ReplaceAllString(name, "")
}

var partSuffix = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// ChatTemplate returns, for errors, the file of the model's chat template without
// the directories above it, which clients must not learn.
func (f Files) ChatTemplate() string {
	if f.gguf != "" {
		return f.gguf + ggufTemplate
	}
	_, err := fs.Stat(f.fsys, jinjaFile)
	file := templateFile(err == nil)
	if f.path == "" {
		return file
	}
	return f.Name() + "/" + file
}

// Directory is a model directory in any file system, such as the embedded one.
func Directory(fsys fs.FS) Files { return Files{fsys: fsys} }

func (f Files) Open(o OpenOptions) (_ *Checkpoint, err error) {
	defer f.locate(&err)
	options := config.Options{Context: o.ContextLength}
	if f.gguf == "" {
		if err := f.onlyGGUF(); err != nil {
			return nil, err
		}
		c, err := config.Load(f.fsys, options)
		if err != nil {
			return nil, err
		}
		return newCheckpoint(c, o, func() (weights.Source, error) { return weights.Open(f.fsys) })
	}
	file, err := gguf.Open(f.fsys, f.gguf)
	if err != nil {
		return nil, err
	}
	defer file.Close() // unless the weights have taken it over
	c, err := hf.Config(file, options)
	if err != nil {
		return nil, err
	}
	return newCheckpoint(c, o, func() (weights.Source, error) { return hf.Weights(file, c) })
}

// Tokenizer reads the model's tokenizer and chat templates.
func (f Files) Tokenizer() (_ *tokenizer.Tokenizer, err error) {
	defer f.locate(&err)
	if f.gguf == "" {
		if err := f.onlyGGUF(); err != nil {
			return nil, err
		}
		return tokenizer.LoadFS(f.fsys)
	}
	file, err := gguf.Open(f.fsys, f.gguf)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return hf.Tokenizer(file)
}

// onlyGGUF refuses a directory of GGUF files without config.json: which one is unclear.
func (f Files) onlyGGUF() error {
	if _, err := fs.Stat(f.fsys, config.File); err == nil {
		return nil
	}
	found, _ := fs.Glob(f.fsys, "*"+GGUFExtension) // the pattern is well formed
	if len(found) == 0 {
		return nil
	}
	const shown = 8
	names := strings.Join(found[:min(shown, len(found))], ", ")
	if len(found) > shown {
		names += fmt.Sprintf(" and %d more", len(found)-shown)
	}
	return fmt.Errorf("there is no %s, only GGUF files: %s; give the path of one of them", config.File, names)
}

// locate adds to an error which model it is about.
func (f Files) locate(err *error) {
	switch {
	case *err == nil || f.path == "":
	case f.gguf == "":
		*err = fmt.Errorf("model directory %s: %w", f.path, *err)
	case strings.HasPrefix((*err).Error(), f.gguf+": "): // names the file already
		*err = fmt.Errorf("model %s%w", strings.TrimSuffix(f.path, f.gguf), *err)
	default:
		*err = fmt.Errorf("model %s: %w", f.path, *err)
	}
}
