package hub

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/internal/units"
)

// texts are the files beside the weights that a model directory needs or may have.
var texts = []string{configName, "generation_config.json", tokenizerName, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}

const (
	configName    = "config.json"
	tokenizerName = "tokenizer.json"
	weightsName   = "model.safetensors"
	indexName     = weightsName + ".index.json"
)

// Bounds of files that are read whole into memory.
const (
	maxText      = 64 << 20 // bytes
	maxTokenizer = 512 << 20
)

// choice is what is needed of a repository.
type choice struct {
	files []File
	entry string // the GGUF file to load, relative; "": the directory
	// shards says that the weights are those that the file indexName names.
	shards bool
}

// choose decides which files of a repository a model needs.
func choose(n Name, files []File) (*choice, error) {
	at := map[string]File{}
	for _, f := range files {
		at[f.Path] = f
	}
	_, single := at[weightsName]
	_, index := at[indexName]
	_, config := at[configName]
	safetensors, models := config && (single || index), ggufs(files)
	switch {
	case n.Quant != "" || !safetensors && len(models) > 0:
		m, err := chooseGGUF(n, models)
		if err != nil {
			return nil, err
		}
		if !m.complete() {
			return nil, fmt.Errorf("%s does not have all %d parts of %s; choose another quantisation", n.Repository(), m.of, clip(m.base))
		}
		return &choice{files: m.parts, entry: m.parts[0].Path}, nil
	case !safetensors:
		return nil, fmt.Errorf("%s has neither model.safetensors with config.json nor a GGUF file; choose a repository with one of them", n.Repository())
	}
	c := &choice{shards: !single}
	weights := indexName
	if single {
		weights = weightsName
	}
	for _, name := range append(slices.Clone(texts), weights) {
		f, ok := at[name]
		if !ok {
			continue
		}
		if most := mostBytes(name); f.Size > most {
			return nil, fmt.Errorf("%s of %s has %s; it must not have more than %s", name, n.Repository(), units.Bytes(f.Size), units.Bytes(most))
		}
		c.files = append(c.files, f)
	}
	return c, nil
}

func mostBytes(name string) int64 {
	switch name {
	case weightsName:
		return maxSize
	case tokenizerName:
		return maxTokenizer
	}
	return maxText
}

// shardsIn are the weights that an index names, as files of the repository.
func shardsIn(index []byte, files []File) ([]File, error) {
	var content struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(index, &content); err != nil || len(content.WeightMap) == 0 {
		return nil, fmt.Errorf("%s is not an index of weights; the repository is damaged", indexName)
	}
	wanted := map[string]bool{}
	for _, name := range content.WeightMap {
		wanted[name] = true
	}
	var shards []File
	for _, f := range files {
		if wanted[f.Path] {
			shards = append(shards, f)
			delete(wanted, f.Path)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("%s names %q, which the repository does not have; the repository is damaged", indexName, clip(name))
	}
	return shards, nil
}
