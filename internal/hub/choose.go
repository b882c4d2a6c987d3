package hub

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// preferred are quantisations of GGUF files in the order in which they are chosen if a
// name has none: four bits with little loss first, then what is nearest to it.
var preferred = []string{"Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "Q5_K_S", "Q8_0", "Q6_K", "Q5_0", "Q4_1", "Q5_1", "Q3_K_M", "Q3_K_L", "Q3_K_S", "Q2_K", "F16", "BF16", "F32"}

// texts are the files beside the weights that a model directory needs or may have.
var texts = []string{configName, "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}

const (
	configName = "config.json"
	indexName  = "model.safetensors.index.json"
)

// choice is what is needed of a repository.
type choice struct {
	files []File
	entry string // the GGUF file to load, relative; "": the directory
	// shards says that the weights are those that the file indexName names.
	shards bool
}

// split matches a part of a GGUF file that was split.
var split = regexp.MustCompile(`^(.*)-([0-9]{5})-of-([0-9]{5})\.gguf$`)

// ggufModel are the parts of one model as GGUF.
type ggufModel struct {
	base  string // path without the number of the part and the suffix
	parts []File // in order
	of    int    // parts that there must be
}

// ggufs groups the GGUF files.
func ggufs(files []File) (models []*ggufModel) {
	byBase := map[string]*ggufModel{}
	for _, f := range files {
		if !strings.HasSuffix(strings.ToLower(f.Path), ".gguf") || strings.Contains(strings.ToLower(path.Base(f.Path)), "mmproj") {
			continue
		}
		base, of := f.Path[:len(f.Path)-len(".gguf")], 1
		if m := split.FindStringSubmatch(f.Path); m != nil {
			base = m[1]
			_, _ = fmt.Sscanf(m[3], "%d", &of)
		}
		m := byBase[base]
		if m == nil {
			m = &ggufModel{base: base, of: of}
			byBase[base], models = m, append(models, m)
		}
		m.parts = append(m.parts, f)
	}
	for _, m := range models {
		slices.SortFunc(m.parts, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	}
	slices.SortFunc(models, func(a, b *ggufModel) int { return strings.Compare(a.base, b.base) })
	return models
}

// quantIn reports whether a quantisation is a word of a file's name, in any case.
func (m *ggufModel) quantIn(quant string) bool {
	name, quant := strings.ToUpper(path.Base(m.base)), strings.ToUpper(quant)
	for at := 0; ; {
		i := strings.Index(name[at:], quant)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(quant)
		if (from == 0 || strings.ContainsRune("-._", rune(name[from-1]))) && (to == len(name) || strings.ContainsRune("-.", rune(name[to]))) {
			return true
		}
		at = from + 1
	}
}

// choose decides which files of a repository a model needs.
func choose(n Name, files []File) (*choice, error) {
	at := map[string]File{}
	for _, f := range files {
		at[f.Path] = f
	}
	_, single := at["model.safetensors"]
	_, index := at[indexName]
	_, config := at[configName]
	models := ggufs(files)
	switch {
	case n.Quant != "" || !(config && (single || index)) && len(models) > 0:
		m, err := chooseGGUF(n, models)
		if err != nil {
			return nil, err
		}
		if len(m.parts) != m.of {
			return nil, fmt.Errorf("%s has %d of the %d parts of %s; choose another quantisation", n.Repository(), len(m.parts), m.of, m.base)
		}
		return &choice{files: m.parts, entry: m.parts[0].Path}, nil
	case !config || !single && !index:
		return nil, fmt.Errorf("%s has neither model.safetensors with config.json nor a GGUF file; choose a repository with one of them", n.Repository())
	}
	c := &choice{shards: !single}
	for _, name := range texts {
		if f, ok := at[name]; ok {
			c.files = append(c.files, f)
		}
	}
	if single {
		c.files = append(c.files, at["model.safetensors"])
	} else {
		c.files = append(c.files, at[indexName])
	}
	return c, nil
}

// chooseGGUF picks a quantisation.
func chooseGGUF(n Name, models []*ggufModel) (*ggufModel, error) {
	if len(models) == 0 {
		return nil, fmt.Errorf("%s has no GGUF files, so it has no quantisation %s; leave :%s out", n.Repository(), n.Quant, n.Quant)
	}
	if n.Quant == "" && len(models) == 1 {
		return models[0], nil
	}
	wanted := preferred
	if n.Quant != "" {
		wanted = []string{n.Quant}
	}
	for _, quant := range wanted {
		var fit []*ggufModel
		for _, m := range models {
			if m.quantIn(quant) {
				fit = append(fit, m)
			}
		}
		if len(fit) == 1 || len(fit) > 0 && n.Quant == "" {
			return fit[0], nil
		}
		if len(fit) > 1 {
			return nil, fmt.Errorf("%s has several files for %s: %s; use a longer part of the file name after the colon", n.Repository(), quant, names(fit))
		}
	}
	if n.Quant == "" {
		return nil, fmt.Errorf("%s has several GGUF files: %s; choose one with %s:QUANT", n.Repository(), names(models), n.Repository())
	}
	return nil, fmt.Errorf("%s has no quantisation %s; it has %s", n.Repository(), n.Quant, names(models))
}

const mostNames = 30

// names lists models for an error.
func names(models []*ggufModel) string {
	var list []string
	for _, m := range models[:min(len(models), mostNames)] {
		list = append(list, clip(m.base)+".gguf")
	}
	if more := len(models) - mostNames; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
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
