package model_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// vocabularyOf makes the vocabulary of a model's files.
func vocabularyOf(t *testing.T, files model.Files) (*tokenizer.Tokenizer, *vocab.Vocabulary) {
	t.Helper()
	tok, v, err := files.Vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	return tok, v
}

// checkVocabulary compares what tokens spell with what a stream decodes after a context.
func checkVocabulary(t *testing.T, name string, tok *tokenizer.Tokenizer, v *vocab.Vocabulary) {
	t.Helper()
	if v.Size() != tok.VocabSize() {
		t.Errorf("%s: %d tokens, the tokenizer has %d", name, v.Size(), tok.VocabSize())
	}
	for id := range int32(v.Size()) {
		special, ok := v.SpecialName(id)
		switch {
		case ok != (tok.IsSpecial(id) || v.IsEnd(id)) || ok && special != tok.TokenContent(id):
			t.Errorf("%s: the name of token %d is %q, %v", name, id, special, ok)
		case ok:
			if first, found := v.Special(special); !found || first > id {
				t.Errorf("%s: %q is token %d, %v", name, special, first, found)
			}
		case !tok.IsSpecial(id) && len(tok.TokenBytes(id)) > 0 && len(v.Bytes(id)) == 0:
			t.Errorf("%s: token %d, %q, spells nothing", name, id, tok.TokenContent(id))
		}
	}
	context := tok.Encode("a", tokenizer.EncodeOptions{})
	for _, text := range corpus {
		ids := tok.Encode(text, tokenizer.EncodeOptions{ParseSpecial: true})
		var spelt []byte
		s := tok.NewStreamAfter(context, tokenizer.DecodeOptions{SkipSpecial: true})
		decoded := ""
		for _, id := range ids {
			spelt = append(spelt, v.Bytes(id)...)
			decoded += s.Push(id)
		}
		if decoded += s.Flush(); utf8.Valid(spelt) && string(spelt) != decoded {
			t.Errorf("%s: the tokens of %q spell %q and decode to %q", name, text, spelt, decoded)
		}
	}
}

func TestVocabulary(t *testing.T) {
	tok, v := vocabularyOf(t, model.Directory(bundled.FS()))
	checkVocabulary(t, "bundled", tok, v)
	m, err := model.Directory(bundled.FS()).Open(model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if !slices.Equal(v.End(), m.Config.EOS) {
		t.Errorf("the end tokens are %v, those of the configuration %v", v.End(), m.Config.EOS)
	}
	if id, ok := v.Special("<|user|>"); !ok || v.IsEnd(id) || v.Bytes(id) != nil {
		t.Errorf("<|user|> is token %d, %v, with the text %q", id, ok, v.Bytes(id))
	}

	file := ggufFile()
	file.Keys = append(file.Keys, ggufwrite.Keys("tokenizer.ggml.eos_token_id", uint32(299))...)
	files, err := model.At(written(t, file))
	if err != nil {
		t.Fatal(err)
	}
	tok, v = vocabularyOf(t, files)
	checkVocabulary(t, "GGUF", tok, v)
	if name, ok := v.SpecialName(299); !slices.Equal(v.End(), []int32{299}) || !ok || name != tok.TokenContent(299) {
		t.Errorf("the end tokens are %v; token 299 has the name %q, %v", v.End(), name, ok)
	}
}

func TestVocabularyOfRows(t *testing.T) {
	tok, err := model.Directory(bundled.FS()).Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	n := tok.VocabSize()
	v, err := model.Vocabulary(tok, []int32{int32(n) + 1}, n+40)
	if err != nil || v.Size() != n+40 || v.Bytes(int32(n)) != nil || !v.IsEnd(int32(n)+1) {
		t.Errorf("a vocabulary with more rows: %v", err)
	}
	for want, c := range map[string]struct {
		ends []int32
		rows int
	}{
		"no token that ends": {nil, 0}, "the model has 5 logits": {[]int32{1}, 5}, "outside the vocabulary of": {[]int32{int32(n)}, 0},
	} {
		if _, err := model.Vocabulary(tok, c.ends, c.rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ends %v, %d rows: %v, want %s", c.ends, c.rows, err, want)
		}
	}
	bare, err := model.Directory(allFiles()).Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Vocabulary(bare, []int32{1}, 0); err == nil || !strings.Contains(err.Error(), "no decoder") {
		t.Errorf("a tokenizer without a decoder: %v", err)
	}
}

func TestEndTokensOfFiles(t *testing.T) {
	files := allFiles()
	files["config.json"] = &fstest.MapFile{Data: []byte(`{"architectures":["Other"],"eos_token_id":[2,3]}`)}
	for want, generation := range map[string]string{"[2 3]": "", "[4]": `{"eos_token_id":4}`, "[5]": `{"eos_token_id":[]}`} {
		if delete(files, "generation_config.json"); generation != "" {
			files["generation_config.json"] = &fstest.MapFile{Data: []byte(generation)}
		}
		dir := model.Directory(files)
		tok, err := dir.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dir.EndTokens(tok); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", generation, got, err, want)
		}
	}
}

func TestConformanceVocabulary(t *testing.T) {
	for _, name := range []string{"llama2", "llama3", "mistral_v1", "phi3", "qwen25", "qwen3"} {
		files := model.Directory(os.DirFS(conformance.Path(t, "tokenizers", name)))
		tok, v := vocabularyOf(t, files)
		checkVocabulary(t, name, tok, v)
	}
}
