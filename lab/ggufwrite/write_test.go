package ggufwrite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model"
)

func small(d gpu.DType) ggufwrite.File {
	return ggufwrite.Model{Arch: "llama", Layers: 2, Hidden: 64, Intermediate: 96, Heads: 4, KVHeads: 2, HeadDim: 16, Vocab: 300, Context: 128, Type: d, Seed: 1}.File()
}

// A file without data is as long as one with it and says the same of the model;
// dummy weights then have the file's type.
func TestCreateEmpty(t *testing.T) {
	// Plain types also make dummy vectors, which files have in F32.
	for _, d := range []gpu.DType{gpu.F16, gpu.Q8_0, gpu.Q4_0} {
		dir := t.TempDir()
		whole, empty := filepath.Join(dir, "whole.gguf"), filepath.Join(dir, "empty.gguf")
		if err := ggufwrite.Create(whole, small(d)); err != nil {
			t.Fatal(err)
		}
		if err := ggufwrite.CreateEmpty(empty, small(d)); err != nil {
			t.Fatal(err)
		}
		a, err := os.Stat(whole)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.Stat(empty)
		if err != nil || a.Size() != b.Size() {
			t.Fatalf("%d bytes, with data %d: %v", b.Size(), a.Size(), err)
		}
		want, err := openAt(whole, model.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := openAt(empty, model.OpenOptions{LoadFormat: model.LoadDummy})
		if err != nil {
			t.Fatal(err)
		}
		if got.WeightDType() != d || want.WeightDType() != d || got.Config.Parameters() != want.Config.Parameters() || d.Quantised() && got.WeightBytes() != want.WeightBytes() {
			t.Errorf("%s: %s of %d bytes, with data %s of %d", d, got.WeightDType(), got.WeightBytes(), want.WeightDType(), want.WeightBytes())
		}
		if err := want.Close(); err != nil {
			t.Error(err)
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	}
	f := small(gpu.F32)
	f.Alignment = 64
	if err := ggufwrite.CreateEmpty(filepath.Join(t.TempDir(), "x.gguf"), f); err == nil {
		t.Error("another alignment was taken")
	}
}

func TestShapesAreWhatTheirNamesSay(t *testing.T) {
	for name, billions := range map[string]float64{
		"qwen2.5-0.5b": 0.494, "qwen2.5-1.5b": 1.544, "qwen2.5-7b": 7.616, "qwen3-0.6b": 0.596, "llama-1b": 1.236, "llama-8b": 8.030,
	} {
		m, ok := ggufwrite.Shapes[name]
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := ggufwrite.CreateEmpty(path, m.File()); err != nil {
			t.Fatal(err)
		}
		c, err := openAt(path, model.OpenOptions{LoadFormat: model.LoadDummy})
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(c.Config.Parameters()) / 1e9; got < billions-0.001 || got > billions+0.001 {
			t.Errorf("%s has %.3f billion parameters, want %.3f", name, got, billions)
		}
	}
}

// openAt opens the model at a path.
func openAt(path string, o model.OpenOptions) (*model.Checkpoint, error) {
	files, err := model.At(path)
	if err != nil {
		return nil, err
	}
	return files.Open(o)
}
