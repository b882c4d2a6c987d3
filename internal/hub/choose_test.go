package hub

import (
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	safetensors := []string{"README.md", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "merges.txt", "model.safetensors",
		"pytorch_model.bin", "onnx/model.onnx", "original/config.json", "chat_template.jinja", ".gitattributes"}
	texts := []string{"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}
	quants := []string{"README.md", "config.json", "m-BF16.gguf", "m-F16.gguf", "m-IQ4_XS.gguf", "m-Q4_0.gguf", "m-Q4_K_M.gguf", "m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf", "mmproj-m-F16.gguf"}
	for name, c := range map[string]struct {
		model string
		files []string
		want  []string // the files
		entry string
		err   string
	}{
		"safetensors":        {"a/b", safetensors, append(slices.Clone(texts), "model.safetensors"), "", ""},
		"shards":             {"a/b", []string{"config.json", "tokenizer.json", indexName, "model-00001-of-00002.safetensors"}, []string{"config.json", "tokenizer.json", indexName}, "", ""},
		"the preferred":      {"a/b", quants, []string{"m-Q4_K_M.gguf"}, "m-Q4_K_M.gguf", ""},
		"a quantisation":     {"a/b:q4_0", quants, []string{"m-Q4_0.gguf"}, "m-Q4_0.gguf", ""},
		"not part of a word": {"a/b:F16", quants, []string{"m-F16.gguf"}, "m-F16.gguf", ""},
		"parts":              {"a/b:Q8_0", quants, []string{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"}, "m-Q8_0-00001-of-00002.gguf", ""},
		"in folders":         {"a/b:Q8_0", []string{"Q8_0/m-Q8_0.gguf", "Q4/m-Q4_0.gguf"}, []string{"Q8_0/m-Q8_0.gguf"}, "Q8_0/m-Q8_0.gguf", ""},
		"the only one":       {"a/b", []string{"weights.gguf"}, []string{"weights.gguf"}, "weights.gguf", ""},
		"both":               {"a/b", append(slices.Clone(safetensors), "m-Q8_0.gguf"), append(slices.Clone(texts), "model.safetensors"), "", ""},
		"both, by name":      {"a/b:Q8_0", append(slices.Clone(safetensors), "m-Q8_0.gguf"), []string{"m-Q8_0.gguf"}, "m-Q8_0.gguf", ""},
		"another":            {"a/b:Q6_K", quants, nil, "", "a/b has no quantisation Q6_K; it has m-BF16.gguf"},
		"two":                {"a/b:Q8_0", []string{"x-Q8_0.gguf", "y-Q8_0.gguf"}, nil, "", "several files for Q8_0: x-Q8_0.gguf, y-Q8_0.gguf"},
		"strange names":      {"a/b", []string{"x.gguf", "y.gguf"}, nil, "", "a/b has several GGUF files: x.gguf, y.gguf; choose one with a/b:QUANT"},
		"two, none named":    {"a/b", []string{"x-Q4_K_M.gguf", "y-Q4_K_M.gguf"}, nil, "", "several files for Q4_K_M: x-Q4_K_M.gguf, y-Q4_K_M.gguf; write more of one file's name, or its folder, after a colon"},
		"a longer part":      {"a/b:y-Q4_K_M", []string{"x-Q4_K_M.gguf", "y-Q4_K_M.gguf"}, []string{"y-Q4_K_M.gguf"}, "y-Q4_K_M.gguf", ""},
		"its folder":         {"a/b:y", []string{"x/m-Q8_0.gguf", "y/m-Q8_0.gguf"}, []string{"y/m-Q8_0.gguf"}, "y/m-Q8_0.gguf", ""},
		"a folder":           {"a/b", []string{"Q4_K_M/m.gguf", "Q8_0/m.gguf"}, []string{"Q4_K_M/m.gguf"}, "Q4_K_M/m.gguf", ""},
		"a folder, by name":  {"a/b:Q8_0", []string{"m/Q4_K_M/m.gguf", "m/Q8_0/m.gguf"}, []string{"m/Q8_0/m.gguf"}, "m/Q8_0/m.gguf", ""},
		"a folder is second": {"a/b:Q8_0", []string{"Q8_0/m-Q4_0.gguf", "m-Q8_0.gguf"}, []string{"m-Q8_0.gguf"}, "m-Q8_0.gguf", ""},
		"whole and split":    {"a/b:Q8_0", []string{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf", "m-Q8_0.gguf"}, []string{"m-Q8_0.gguf"}, "m-Q8_0.gguf", ""},
		"split in two ways":  {"a/b", []string{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00001-of-00003.gguf", "m-Q8_0-00002-of-00003.gguf", "m-Q8_0-00003-of-00003.gguf"}, []string{"m-Q8_0-00001-of-00003.gguf", "m-Q8_0-00002-of-00003.gguf", "m-Q8_0-00003-of-00003.gguf"}, "m-Q8_0-00001-of-00003.gguf", ""},
		"in capitals":        {"a/b:Q8_0", []string{"m-Q8_0-00001-of-00002.GGUF", "m-Q8_0-00002-of-00002.GGUF", "m-Q4_0.GGUF"}, []string{"m-Q8_0-00001-of-00002.GGUF", "m-Q8_0-00002-of-00002.GGUF"}, "m-Q8_0-00001-of-00002.GGUF", ""},
		"a part twice":       {"a/b", []string{"m-Q8_0-00002-of-00002.GGUF", "m-Q8_0-00002-of-00002.gguf"}, nil, "", "not have all 2 parts of m-Q8_0"},
		"a complete one":     {"a/b", []string{"m-Q4_K_M-00001-of-00002.gguf", "m-Q8_0.gguf"}, []string{"m-Q8_0.gguf"}, "m-Q8_0.gguf", ""},
		"the one with :":     {"a/b:Q4_K_M", []string{"m-Q4_K_M-00001-of-00002.gguf", "m-Q8_0.gguf"}, nil, "", "not have all 2 parts of m-Q4_K_M"},
		"matrices":           {"a/b", []string{"imatrix_b.gguf", "m-imatrix.gguf", "m.gguf", "mmproj-m-Q4_K_M.gguf"}, []string{"m.gguf"}, "m.gguf", ""},
		"made with a matrix": {"a/b", []string{"m-imatrix-Q4_K_M.gguf"}, []string{"m-imatrix-Q4_K_M.gguf"}, "m-imatrix-Q4_K_M.gguf", ""},
		"a missing part":     {"a/b", []string{"m-Q8_0-00001-of-00003.gguf", "m-Q8_0-00003-of-00003.gguf"}, nil, "", "not have all 3 parts of m-Q8_0"},
		"no GGUF":            {"a/b:Q8_0", safetensors, nil, "", "leave :Q8_0 out"},
		"neither":            {"a/b", []string{"pytorch_model.bin", "config.json"}, nil, "", "neither model.safetensors"},
		"nothing":            {"a/b", nil, nil, "", "neither model.safetensors"},
	} {
		n, err := Parse(c.model)
		if err != nil {
			t.Fatal(err)
		}
		var files []File
		for _, path := range c.files {
			files = append(files, File{Path: path, Size: 1})
		}
		got, err := choose(n, files)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var paths []string
		for _, f := range got.files {
			paths = append(paths, f.Path)
		}
		if !slices.Equal(paths, c.want) || got.entry != c.entry {
			t.Errorf("%s: %q, entry %q; want %q, %q", name, paths, got.entry, c.want, c.entry)
		}
	}
}

// Files that are read whole have bounds.
func TestChooseHasBounds(t *testing.T) {
	n := Name{Org: "a", Repo: "b"}
	for name, most := range map[string]int64{"config.json": 64 << 20, "tokenizer.json": 512 << 20, "chat_template.jinja": 64 << 20, indexName: 64 << 20} {
		files := []File{{Path: "config.json"}, {Path: indexName}, {Path: name, Size: most}}
		if _, err := choose(n, files); err != nil {
			t.Errorf("%s of %d bytes: %v", name, most, err)
		}
		files[2].Size++
		if _, err := choose(n, files); err == nil || !strings.Contains(err.Error(), name+" of a/b has ") {
			t.Errorf("%s of %d bytes: %v", name, most+1, err)
		}
	}
	if _, err := choose(n, []File{{Path: "config.json"}, {Path: "model.safetensors", Size: 1 << 40}, {Path: indexName, Size: 1 << 40}}); err != nil {
		t.Errorf("weights have no bound, and their index is not needed: %v", err)
	}
}

func TestShardsIn(t *testing.T) {
	files := []File{{Path: "a"}, {Path: "b"}, {Path: "c"}}
	if got, err := shardsIn([]byte(`{"weight_map": {"x": "c", "y": "a", "z": "a"}}`), files); err != nil || len(got) != 2 || got[0].Path != "a" || got[1].Path != "c" {
		t.Errorf("%v, %v", got, err)
	}
	for _, index := range []string{``, `[]`, `{}`, `{"weight_map": {"x": "d"}}`, `{"weight_map": {"x": "../a"}}`} {
		if got, err := shardsIn([]byte(index), files); err == nil {
			t.Errorf("%s: %v", index, got)
		}
	}
}

func FuzzNextPage(f *testing.F) {
	f.Add(`<https://a/b?c=1>; rel="next", <https://a/x>; rel=last`)
	f.Add(`<a>; rel=prev; rel="next"`)
	f.Add(`<`)
	f.Fuzz(func(t *testing.T, header string) {
		if next := nextPage([]string{header}); next != "" && !strings.Contains(header, "<"+next+">") {
			t.Errorf("%q has the next page %q", header, next)
		}
	})
}

func TestNextPage(t *testing.T) {
	for header, want := range map[string]string{
		`<https://h/1>; rel="next"`:                          "https://h/1",
		`<https://h/0>; rel="prev", <https://h/2>; rel=next`: "https://h/2",
		`<https://h/3>; title="x"; rel="NEXT"`:               "https://h/3",
		`<https://h/0>; rel="last"`:                          "",
		`https://h/0; rel="next"`:                            "",
		"":                                                   "",
	} {
		if got := nextPage([]string{"<x>; rel=first", header}); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
