package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/gguf/gguftest"
)

// TestCommandsTakeGGUFFiles: the path of a file stands where that of a
// directory does.
func TestCommandsTakeGGUFFiles(t *testing.T) {
	m := gguftest.Model{Arch: "qwen3", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 300, Context: 64, Type: gpu.F16}
	f := m.File()
	f.Keys = append(f.Keys, gguftest.Keys("tokenizer.chat_template", "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}", "tokenizer.ggml.bos_token_id", uint32(299))...)
	path := filepath.Join(t.TempDir(), "small-f16.gguf")
	if err := gguftest.Create(path, f); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{`{"text":"hi"}`, []string{"inspect", "tokens"}, `"ids":[104,105]`},
		{`{"messages":[{"role":"user","content":"hi"}]}`, []string{"inspect", "template"}, `<299>[hi]`},
		{"", []string{"inspect", "logits", "--tokens", "1,2"}, `"logits":[[`},
		{"", []string{"inspect", "memory"}, "small-f16, kv-cache-dtype"},
	} {
		if out := mustRun(t, c.stdin, append(c.args, "--model", path)...); !strings.Contains(out, c.want) {
			t.Errorf("%v: %.300q, want %q", c.args, out, c.want)
		}
	}
	once := mustRun(t, "", "generate", "--model", path, "--prompt", "ab", "--max-tokens", "5", "--temperature", "0")
	if again := mustRun(t, "", "generate", "--model", path, "--prompt", "ab", "--max-tokens", "5", "--temperature", "0"); once != again || len(once) < 5 {
		t.Errorf("generated %q, then %q", once, again)
	}
	if _, err := run(t, "", "inspect", "memory", "--model", filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "small-f16.gguf; give the path of one") {
		t.Errorf("a directory: %v", err)
	}
}
