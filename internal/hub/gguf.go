package hub

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// preferred are quantisations of GGUF files in the order in which they are chosen if a
// name has none: four bits with little loss first, then what is nearest to it.
var preferred = []string{"Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "Q5_K_S", "Q8_0", "Q6_K", "Q5_0", "Q4_1", "Q5_1", "Q3_K_M", "Q3_K_L", "Q3_K_S", "Q2_K", "F16", "BF16", "F32"}

// split matches a part of a GGUF file that was split.
var split = regexp.MustCompile(`(?i)^(.*)-([0-9]{5})-of-([0-9]{5})\.gguf$`)

// ggufModel are the parts of one model as GGUF.
type ggufModel struct {
	base  string // path without the number of the part and the suffix
	parts []File // in order
	of    int    // parts that there must be
}

// partOf reads a file's name. A file that was not split is part 1 of 1.
func partOf(file string) (base string, part, of int) {
	m := split.FindStringSubmatch(file)
	if m == nil {
		return file[:len(file)-len(".gguf")], 1, 1
	}
	part, _ = strconv.Atoi(m[2])
	of, _ = strconv.Atoi(m[3])
	return m[1], part, of
}

// complete reports whether each part is there.
func (m *ggufModel) complete() bool {
	for i, f := range m.parts {
		if _, part, _ := partOf(f.Path); part != i+1 {
			return false
		}
	}
	return len(m.parts) == m.of
}

// isGGUFModel leaves out projections of images and the matrices that quantisations were
// made with.
func isGGUFModel(file string) bool {
	name, ok := strings.CutSuffix(strings.ToLower(path.Base(file)), ".gguf")
	return ok && !strings.Contains(name, "mmproj") && !strings.HasPrefix(name, "imatrix") && !strings.HasSuffix(name, "imatrix")
}

// ggufs groups the GGUF files. Of a model that is there whole and split, or split in two
// ways, it keeps one: a complete one with the fewest parts.
func ggufs(files []File) (models []*ggufModel) {
	type key struct {
		base string
		of   int
	}
	groups := map[key]*ggufModel{}
	for _, f := range files {
		if !isGGUFModel(f.Path) {
			continue
		}
		base, _, of := partOf(f.Path)
		m := groups[key{base, of}]
		if m == nil {
			m = &ggufModel{base: base, of: of}
			groups[key{base, of}], models = m, append(models, m)
		}
		m.parts = append(m.parts, f)
	}
	for _, m := range models {
		slices.SortFunc(m.parts, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	}
	slices.SortFunc(models, func(a, b *ggufModel) int {
		return cmp.Or(strings.Compare(a.base, b.base), completeFirst(a, b), a.of-b.of)
	})
	return slices.CompactFunc(models, func(a, b *ggufModel) bool { return a.base == b.base })
}

func completeFirst(a, b *ggufModel) int {
	switch {
	case a.complete() == b.complete():
		return 0
	case a.complete():
		return -1
	}
	return 1
}

// hasWord reports whether a quantisation is a word of a name, in any case.
func hasWord(name, quant string) bool {
	name, quant = strings.ToUpper(name), strings.ToUpper(quant)
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

// withQuant are the models with a quantisation in the names of their files or, if there
// are none, in the names of their folders.
func withQuant(models []*ggufModel, quant string) []*ggufModel {
	var byFile, byFolder []*ggufModel
	for _, m := range models {
		folder, file := path.Split(m.base)
		if hasWord(file, quant) {
			byFile = append(byFile, m)
		}
		if slices.ContainsFunc(strings.Split(folder, "/"), func(name string) bool { return hasWord(name, quant) }) {
			byFolder = append(byFolder, m)
		}
	}
	if len(byFile) > 0 {
		return byFile
	}
	return byFolder
}

// chooseGGUF picks a quantisation. Without one in the name, a model that is complete.
func chooseGGUF(n Name, models []*ggufModel) (*ggufModel, error) {
	if len(models) == 0 {
		return nil, fmt.Errorf("%s has no GGUF files, so it has no quantisation %s; leave :%s out", n.Repository(), n.Quant, n.Quant)
	}
	wanted := []string{n.Quant}
	if n.Quant == "" {
		wanted = preferred
		if whole := slices.DeleteFunc(slices.Clone(models), func(m *ggufModel) bool { return !m.complete() }); len(whole) > 0 {
			models = whole
		}
		if len(models) == 1 {
			return models[0], nil
		}
	}
	for _, quant := range wanted {
		switch fit := withQuant(models, quant); {
		case len(fit) == 1:
			return fit[0], nil
		case len(fit) > 1:
			return nil, fmt.Errorf("%s has several files for %s: %s; write more of one file's name, or its folder, after a colon", n.Repository(), quant, names(fit))
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
