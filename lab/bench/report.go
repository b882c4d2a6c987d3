package bench

// Report is a run with all that its figures depend on.
type Report struct {
	Machine     Machine  `json:"machine"`
	Model       Model    `json:"model"`
	Setup       Setup    `json:"setup"`
	Results     []Result `json:"results"`
	Interrupted bool     `json:"interrupted"` // the run ended early, and some tests are missing
	Notes       []string `json:"notes,omitempty"`
}

type Model struct {
	Name         string     `json:"name"`
	Path         string     `json:"path,omitempty"` // as given
	Architecture string     `json:"architecture"`
	Parameters   int64      `json:"parameters"`
	Bytes        int64      `json:"bytes"` // of the weights as the device keeps them
	WeightDType  string     `json:"weight_dtype"`
	HeldDType    string     `json:"held_dtype,omitempty"` // the type on the device, if it is another one
	KVDType      string     `json:"kv_cache_dtype"`
	Activations  string     `json:"activation_dtype"` // what most weights are multiplied with
	Random       bool       `json:"random_weights"`   // made up
	Replaced     []Replaced `json:"replaced_types,omitempty"`
}

// Replaced are matrices of a shape in another type than the requested one, because
// their row length is not a multiple of its block size.
type Replaced struct {
	Tensors []string `json:"tensors"` // names; * is every layer that has one
	Count   int      `json:"count"`   // of matrices
	Columns int      `json:"columns"` // elements of a row
	Block   int      `json:"block"`   // elements of a block of Wanted
	Wanted  string   `json:"wanted_dtype"`
	Stored  string   `json:"stored_dtype"`
}

type Setup struct {
	Through     string            `json:"through"` // "engine", "step" or "http"
	Repetitions int               `json:"repetitions"`
	Warmup      int               `json:"warmup"`
	Seed        uint64            `json:"seed"`
	ReadBytes   int64             `json:"read_bytes,omitempty"` // that the bandwidth is measured with; 0: it is not
	Chunk       int               `json:"chunked_prefill_size"` // most tokens of a prompt per step
	Flags       map[string]string `json:"flags,omitempty"`      // those that were given, by name
}

// Result is one test with one number of threads.
type Result struct {
	Test     string `json:"test"`
	Prompt   int    `json:"prompt"`
	Generate int    `json:"generate"`
	Batch    int    `json:"batch"`
	Depth    int    `json:"depth"`
	Threads  int    `json:"threads,omitempty"` // 0: a GPU has computed

	TokensPerSecond Summary   `json:"tokens_per_second"`
	Samples         []float64 `json:"tokens_per_second_samples"`

	// Bytes read by a step and for a token, at least: the weights once a step,
	// K and V of a sequence's positions once a step. 0: not known.
	WeightBytesPerStep float64 `json:"weight_bytes_per_step"`
	KVBytesPerStep     float64 `json:"kv_bytes_per_step"`
	BytesPerToken      float64 `json:"bytes_per_token"`
	BytesPerSecond     Summary `json:"bytes_per_second"`
	// ReadBandwidth is of plain reading by as many threads, before the first
	// repetition and after each. Share is the bytes per second of a repetition
	// over the mean of the two bandwidths around it.
	ReadBandwidth Summary `json:"read_bandwidth_bytes_per_second"`
	Share         Summary `json:"share_of_read_bandwidth"`

	Delays *Delays `json:"actor_delay,omitempty"`
}

// result sums up at least one repetition.
func (m *measured) result(p Plan, t Test) Result {
	var rates, bytes, shares []float64
	var delays []Delay
	var tokens, steps int
	var weights, kv float64
	for i, s := range m.samples {
		seconds := max(s.Took.Seconds(), 1e-9)
		w, k := float64(int64(s.Steps)*p.Traffic.WeightBytes), float64(s.Positions*p.Traffic.KVBytes)
		rates = append(rates, float64(s.Tokens)/seconds)
		delays = append(delays, s.Delays...)
		if p.Traffic.WeightBytes == 0 {
			continue
		}
		tokens, steps, weights, kv = tokens+s.Tokens, steps+s.Steps, weights+w, kv+k
		bytes = append(bytes, (w+k)/seconds)
		if len(m.reads) > 0 {
			shares = append(shares, (w+k)/seconds/((m.reads[i]+m.reads[i+1])/2))
		}
	}
	r := Result{
		Test: t.String(), Prompt: t.Prompt, Generate: t.Generate, Batch: t.Batch, Depth: t.Depth, Threads: p.Threads,
		TokensPerSecond: Summarise(rates), Samples: rates, BytesPerSecond: Summarise(bytes),
		ReadBandwidth: Summarise(m.reads), Share: Summarise(shares), Delays: sumUp(delays),
	}
	if steps > 0 && tokens > 0 {
		r.WeightBytesPerStep, r.KVBytesPerStep = weights/float64(steps), kv/float64(steps)
		r.BytesPerToken = (weights + kv) / float64(tokens)
	}
	return r
}
