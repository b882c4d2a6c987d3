package config

import (
	"fmt"
	"io/fs"
)

// Generation is what generation_config.json recommends for sampling. A nil field is not
// stated there. All values are in the ranges of sampling parameters, or the server would
// refuse every request that leaves them out.
type Generation struct {
	DoSample          *bool
	Temperature       *float32 // [0, 2]
	TopP              *float32 // (0, 1]
	TopK              *int32   // 0 keeps every token
	MinP              *float32 // [0, 1]
	RepetitionPenalty *float32 // (0, 2]
}

// applyGeneration reads sampling defaults and the special tokens, which win
// over those of config.json, as they do in Hugging Face's generate.
func (c *Config) applyGeneration(f fields) error {
	if f.has("eos_token_id") {
		c.EOS = f.tokens("eos_token_id", c.Vocab)
	}
	if b := f.tokens("bos_token_id", c.Vocab); len(b) > 0 {
		c.BOS = b[0]
	}
	g := &c.Generation
	if f.has("do_sample") {
		g.DoSample = new(f.boolean("do_sample"))
	}
	for _, p := range g.parameters() {
		if f.has(p.key) {
			*p.value = new(float32(required(f, p.key, p.low, p.high)))
		}
	}
	if f.has("top_k") {
		// Some files write -1 for "off".
		g.TopK = new(int32(max(0, required(f, "top_k", -1, maxVocab))))
	}
	return *f.err
}

type parameter struct {
	key       string
	value     **float32
	low, high float64
}

func (g *Generation) parameters() []parameter {
	return []parameter{
		{"temperature", &g.Temperature, 0, 2}, {"top_p", &g.TopP, 1e-9, 1}, {"min_p", &g.MinP, 0, 1}, {"repetition_penalty", &g.RepetitionPenalty, 1e-9, 2},
	}
}

// Check refuses values outside their ranges, for a Generation that is not of a file.
func (g *Generation) Check() error {
	for _, p := range g.parameters() {
		if v := *p.value; v != nil && !(float64(*v) >= float64(float32(p.low)) && float64(*v) <= p.high) {
			return fmt.Errorf("%s is %v; it must be between %v and %v", p.key, *v, p.low, p.high)
		}
	}
	if k := g.TopK; k != nil && (*k < 0 || *k > maxVocab) {
		return fmt.Errorf("top_k is %d; it must be between 0 and %d", *k, maxVocab)
	}
	return nil
}

// EndTokens reads the tokens that end an output, as Load does, of a model whose other
// settings need not be supported. Without config.json there are none.
func EndTokens(fsys fs.FS) ([]int32, error) {
	var ends []int32
	for _, name := range []string{File, GenerationFile} {
		f, err := readFields(fsys, name)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if f.has("eos_token_id") {
			ends = f.tokens("eos_token_id", maxVocab)
		}
		if *f.err != nil {
			return nil, *f.err
		}
	}
	return ends, nil
}
