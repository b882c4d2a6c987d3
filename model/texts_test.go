package model_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

var corpus = []string{
	"", " ", "Hello, world! ", "  two  spaces\n\n\ttab ", "grüße an 北京, été 🎉👩‍👩‍👧", "a\xffb", "\ufeff\u00a0١٢٣ 12345",
	"<|im_start|>user\nhi<|im_end|>", "<s>x</s> <unk><extra>", "don't I'll WE'VE", strings.Repeat("na ", 50),
}

// checkTexts compares the tokenizer of a model's texts with that of the model.
func checkTexts(t *testing.T, files model.Files, corpus []string) model.Texts {
	t.Helper()
	want, err := files.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := files.Texts()
	if err != nil {
		t.Fatal(err)
	}
	got, err := texts.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if got.VocabSize() != want.VocabSize() || got.BOSText() != want.BOSText() || got.EOSText() != want.EOSText() {
		t.Errorf("%d ids, BOS %q, EOS %q; the model has %d, %q, %q", got.VocabSize(), got.BOSText(), got.EOSText(), want.VocabSize(), want.BOSText(), want.EOSText())
	}
	if !maps.Equal(got.ChatTemplates(), want.ChatTemplates()) {
		t.Errorf("chat templates %q; the model has %q", got.ChatTemplates(), want.ChatTemplates())
	}
	for id := range int32(want.VocabSize()) {
		if !bytes.Equal(got.TokenBytes(id), want.TokenBytes(id)) || got.IsSpecial(id) != want.IsSpecial(id) {
			t.Fatalf("token %d is %q; the model has %q", id, got.TokenBytes(id), want.TokenBytes(id))
		}
	}
	for _, text := range corpus {
		for _, o := range []tokenizer.EncodeOptions{{}, {ParseSpecial: true}, {ParseSpecial: true, AddSpecial: true}} {
			ids := want.Encode(text, o)
			if have := got.Encode(text, o); !slices.Equal(have, ids) {
				t.Errorf("encode %q with %+v: %v; the model gives %v", text, o, have, ids)
			}
			if have, text := got.Decode(ids, tokenizer.DecodeOptions{}), want.Decode(ids, tokenizer.DecodeOptions{}); have != text {
				t.Errorf("decode %v: %q; the model gives %q", ids, have, text)
			}
		}
	}
	return texts
}

// allFiles is a directory with every kind of file of a tokenizer, and others.
func allFiles() fstest.MapFS {
	return fstest.MapFS{
		"tokenizer.json": {Data: []byte(`{"model":{"type":"BPE","vocab":{"a":0,"n":1,"▁":2,"an":3},"merges":["a n"],"byte_fallback":false},` +
			`"added_tokens":[{"id":4,"content":"<s>","special":true},{"id":5,"content":"</s>","special":true}],"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"}}`)},
		"special_tokens_map.json":             {Data: []byte(`{"bos_token":"<s>","eos_token":"</s>"}`)},
		"tokenizer_config.json":               {Data: []byte(`{"add_bos_token":true,"tokenizer_class":"LlamaTokenizer","chat_template":"config"}`)},
		"added_tokens.json":                   {Data: []byte(`{"<extra>":6}`)},
		"chat_template.jinja":                 {Data: []byte("own {{ messages }}")},
		"additional_chat_templates/rag.jinja": {Data: []byte("rag")},
		"additional_chat_templates/notes.txt": {Data: []byte("no template")},
		"additional_chat_templates/d.jinja/x": {Data: []byte("in a directory")},
		"config.json":                         {Data: []byte("{}")},
		"model.safetensors":                   {Data: []byte("weights")},
	}
}

func TestTextsOfDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		files    fstest.MapFS
		want     []string
		template string
	}{
		"all": {allFiles(), []string{"added_tokens.json", "additional_chat_templates/rag.jinja", "chat_template.jinja",
			"special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"}, "m/chat_template.jinja"},
		"few": {fstest.MapFS{"tokenizer.json": allFiles()["tokenizer.json"]}, []string{"tokenizer.json"}, "m/tokenizer_config.json"},
	} {
		t.Run(name, func(t *testing.T) {
			texts := checkTexts(t, model.Directory(c.files), corpus)
			if have := slices.Sorted(maps.Keys(texts)); !slices.Equal(have, c.want) {
				t.Errorf("the texts are %q, want %q", have, c.want)
			}
			if have := texts.ChatTemplate("m"); have != c.template {
				t.Errorf("the template is in %s, want %s", have, c.template)
			}
		})
	}
	checkTexts(t, model.Directory(bundled.FS()), corpus)
}

// ggufFile is a model of the shape given, with a chat template and a key that no tokenizer needs.
func ggufFile() ggufwrite.File {
	f := shapes["llama"].shape.File()
	f.Keys = append(f.Keys, ggufwrite.Keys("tokenizer.chat_template", "own {{ messages }}", "tokenizer.chat_template.rag", "rag",
		"tokenizer.huggingface.json", strings.Repeat("x", 1<<20))...)
	return f
}

func TestTextsOfGGUFFiles(t *testing.T) {
	path := written(t, ggufFile())
	files, err := model.At(path)
	if err != nil {
		t.Fatal(err)
	}
	texts := checkTexts(t, files, corpus)
	if len(texts) != 1 || len(texts["tokenizer.gguf"]) > 16<<10 {
		t.Errorf("the texts are %d files, tokenizer.gguf has %d bytes", len(texts), len(texts["tokenizer.gguf"]))
	}
	if have := texts.ChatTemplate("m"); have != "m (tokenizer.chat_template)" {
		t.Errorf("the template is in %s", have)
	}

	// A copy elsewhere, under another name and in two parts, has the same texts.
	dir := t.TempDir()
	whole := ggufFile()
	for i, name := range []string{"x-00001-of-00002.gguf", "x-00002-of-00002.gguf"} {
		part := ggufwrite.File{Keys: ggufwrite.Keys("split.no", uint16(i), "split.count", uint16(2)), Tensors: whole.Tensors[i : i+1]}
		if i == 0 {
			part.Keys = append(part.Keys, whole.Keys...)
		}
		if err := ggufwrite.Create(filepath.Join(dir, name), part); err != nil {
			t.Fatal(err)
		}
	}
	if files, err = model.At(filepath.Join(dir, "x-00002-of-00002.gguf")); err != nil {
		t.Fatal(err)
	}
	if other := checkTexts(t, files, nil); !bytes.Equal(other["tokenizer.gguf"], texts["tokenizer.gguf"]) {
		t.Error("the parts of the model have other texts")
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	texts := func(add ...string) model.Texts {
		m := model.Texts{"tokenizer.json": allFiles()["tokenizer.json"].Data}
		for i := 0; i < len(add); i += 2 {
			m[add[i]] = []byte(add[i+1])
		}
		return m
	}
	split := ggufwrite.File{Keys: ggufwrite.Keys("split.no", uint16(0), "split.count", uint16(2))}
	var part bytes.Buffer
	if err := ggufwrite.Write(&part, split); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]model.Texts{
		"tokenizer.json is missing":                           {},
		`"../tokenizer.json" is not a file`:                   texts("../tokenizer.json", ""),
		`"/etc/passwd" is not a file`:                         texts("/etc/passwd", ""),
		`"config.json" is not a file`:                         texts("config.json", "{}"),
		`"additional_chat_templates/a/b.jinja" is not a file`: texts("additional_chat_templates/a/b.jinja", ""),
		`"" is not a file`:                                    texts("", ""),
		"tokenizer_config.json is larger than 16 MiB":         texts("tokenizer_config.json", strings.Repeat(" ", 16<<20+1)),
		"chat_template.jinja: the file is not UTF-8":          texts("chat_template.jinja", "\xff"),
		"tokenizer.json: the file is empty":                   texts("tokenizer.json", ""),
		"files beside tokenizer.gguf":                         texts("tokenizer.gguf", ""),
		"tokenizer.gguf: has 4 bytes":                         {"tokenizer.gguf": []byte("GGUF")},
		"tokenizer.gguf: is one of 2 parts":                   {"tokenizer.gguf": part.Bytes()},
	} {
		if _, err := c.Tokenizer(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestTextsOfNoModel(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"only GGUF files: a.gguf":             {"a.gguf": {Data: []byte("GGUF")}},
		"added_tokens.json is larger than 16": {"added_tokens.json": {Data: make([]byte, 16<<20+1)}},
	} {
		if _, err := model.Directory(files).Texts(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := model.At(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Texts(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// TestConformanceTexts does the same with models of others.
func TestConformanceTexts(t *testing.T) {
	dir := conformance.Path(t)
	corpus := slices.Clone(corpus)
	for _, v := range conformance.Lines[conformance.Text](t, filepath.Join(dir, "tokenizers", "llama3.vectors.jsonl")) {
		corpus = append(corpus, v.Text)
	}
	models := 0
	for _, pattern := range []string{"tokenizers/*/tokenizer.json", "weights/*/*/tokenizer.json", "weights/*/*.gguf"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if filepath.Ext(path) == ".json" {
				path = filepath.Dir(path)
			}
			files, err := model.At(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(filepath.Base(path), func(t *testing.T) { checkTexts(t, files, corpus) })
			models++
		}
	}
	if models < 10 {
		t.Errorf("%d models, want at least 10", models)
	}
}

// FuzzTexts: whatever the files are, there is an error or a tokenizer that works.
func FuzzTexts(f *testing.F) {
	all := allFiles()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.Add(all["tokenizer.json"].Data, name, all[name].Data)
	}
	files, err := model.At(written(f, ggufFile()))
	if err != nil {
		f.Fatal(err)
	}
	texts, err := files.Texts()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil), "tokenizer.gguf", texts["tokenizer.gguf"])
	f.Fuzz(func(t *testing.T, json []byte, name string, data []byte) {
		if bytes.Contains(json, []byte("Regex")) && len(json) > 1<<12 {
			t.Skip("long patterns may use their whole time limit")
		}
		texts := model.Texts{name: data}
		if len(json) > 0 {
			texts["tokenizer.json"] = json
		}
		tok, err := texts.Tokenizer()
		if err != nil {
			return
		}
		if limit := 1<<16 + 64*(len(json)+len(data)); tok.VocabSize() > limit {
			t.Fatalf("%d ids from %d bytes", tok.VocabSize(), len(json)+len(data))
		}
		for _, id := range tok.Encode("aa <s>b é\xff", tokenizer.EncodeOptions{AddSpecial: true, ParseSpecial: true}) {
			if id < 0 || int(id) >= tok.VocabSize() {
				t.Fatalf("encoding gave %d of %d ids", id, tok.VocabSize())
			}
		}
		texts.ChatTemplate("m")
	})
}
