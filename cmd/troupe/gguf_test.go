package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/testkit/ggufdata"
)

// TestCommandsTakeGGUFFiles: the path of a file works wherever a model directory does.
func TestCommandsTakeGGUFFiles(t *testing.T) {
	m := ggufwrite.Model{Arch: "qwen3", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 300, Context: 64, Type: gpu.F16}
	f := m.File()
	f.Keys = append(f.Keys, ggufwrite.Keys("tokenizer.chat_template", "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}", "tokenizer.ggml.bos_token_id", uint32(299))...)
	path := filepath.Join(t.TempDir(), "small-f16.gguf")
	if err := ggufwrite.Create(path, f); err != nil {
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

// TestCommandsRefuseWeightsThatAreNotFinite: the model is not loaded, the command's
// error is the reason, and no resource leaks.
func TestCommandsRefuseWeightsThatAreNotFinite(t *testing.T) {
	m := ggufwrite.Model{Arch: "qwen3", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 300, Context: 64, Type: gpu.F16}
	f := m.File()
	for i, x := range f.Tensors {
		if x.Name == "blk.0.ffn_up.weight" {
			data := make([]byte, x.Bytes())
			copy(data[2*(31*32+5):], []byte{0, 0x7e}) // the last row
			f.Tensors[i].Data = ggufdata.Bytes(data)
		}
	}
	path := filepath.Join(t.TempDir(), "broken.gguf")
	if err := ggufwrite.Create(path, f); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for _, args := range [][]string{
		{"generate", "--prompt", "ab", "--max-tokens", "5"},
		{"serve", "--port", "0"},
		{"inspect", "logits", "--tokens", "1"},
	} {
		out, err := run(t, "", append(args, "--model", path)...)
		if err == nil {
			t.Errorf("%v: %q", args, out)
			continue
		}
		for _, want := range []string{"broken.gguf: tensor model.layers.0.mlp.up_proj.weight (blk.0.ffn_up.weight in the file): row 31, column 5 is NaN; ", "download it again or convert it again"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q lacks %q", args, err, want)
			}
		}
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && strings.Contains(string(maps), path) { // only Linux has this file
		t.Error("the file is still mapped")
	}
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(time.Millisecond); runtime.NumGoroutine() > before; {
		select {
		case <-tick: // goroutines of a command may still be ending
		case <-deadline:
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestABrokenTemplateStopsChatOnly: the error names the file that the template
// is in.
func TestABrokenTemplateStopsChatOnly(t *testing.T) {
	m := ggufwrite.Model{Arch: "qwen3", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 300, Context: 64, Type: gpu.F16}
	f := m.File()
	f.Keys = append(f.Keys, ggufwrite.Keys("tokenizer.chat_template", "{% for m in messages %}\n{{ m.content")...)
	dir := t.TempDir()
	path, good := filepath.Join(dir, "odd.gguf"), filepath.Join(dir, "good.jinja")
	if err := ggufwrite.Create(path, f); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, []byte("{{ messages[0].content }}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"generate", "--prompt", "ab", "--max-tokens", "2"},
		{"inspect", "logits", "--tokens", "1"},
		{"chat", "--max-tokens", "2", "--chat-template", good},
	} {
		if out := mustRun(t, "hi\n", append(args, "--model", path)...); strings.Contains(out, "error") {
			t.Errorf("%v: %s", args, out)
		}
	}
	for _, args := range [][]string{{"chat"}, {"inspect", "template"}} {
		out, err := run(t, "hi\n", append(args, "--model", path)...)
		if err == nil || !strings.Contains(err.Error(), "chat template: odd.gguf (tokenizer.chat_template) line 2: TemplateSyntaxError") || !strings.Contains(err.Error(), "--chat-template FILE") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(good, []byte("{% if %}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "", "generate", "--model", path, "--chat-template", good); err == nil || !strings.Contains(err.Error(), good+" line 1") {
		t.Errorf("an explicit template: %v", err)
	}
}
