package config

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
	g.Temperature = f.optional("temperature", 0, 2)
	g.TopP = f.optional("top_p", 1e-9, 1)
	g.MinP = f.optional("min_p", 0, 1)
	g.RepetitionPenalty = f.optional("repetition_penalty", 1e-9, 2)
	if f.has("top_k") {
		// Some files write -1 for "off".
		g.TopK = new(int32(max(0, required(f, "top_k", -1, maxVocab))))
	}
	return *f.err
}

func (f fields) optional(key string, low, high float64) *float32 {
	if !f.has(key) {
		return nil
	}
	return new(float32(required(f, key, low, high)))
}
