package costmodel

// Model is the shape of a decoder-only transformer: gated MLP, grouped-query attention.
type Model struct {
	Name         string
	Layers       int
	Heads        int // query heads
	KVHeads      int // divides Heads
	HeadDim      int
	Hidden       int // width of the residual stream
	Intermediate int // width of the MLP
	Vocab        int
	Context      int  // positions at most
	Tied         bool // the output matrix is the embedding
	WeightBytes  int  // per weight: 4, 2 or 1
	KVBytes      int  // per element of K and V: 4, 2 or 1
}

// models lists the built-in shapes. The numbers are those of config.json of
// meta-llama/Llama-3.1-8B, meta-llama/Llama-3.2-1B, meta-llama/Llama-3.1-70B (with
// weights of one byte) and Qwen/Qwen2.5-7B-Instruct.
var models = []Model{
	{Name: "llama-3.1-8b", Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128, Hidden: 4096, Intermediate: 14336, Vocab: 128256, Context: 131072, WeightBytes: 2, KVBytes: 2},
	{Name: "llama-3.2-1b", Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64, Hidden: 2048, Intermediate: 8192, Vocab: 128256, Context: 131072, Tied: true, WeightBytes: 2, KVBytes: 2},
	{Name: "llama-3.1-70b-fp8", Layers: 80, Heads: 64, KVHeads: 8, HeadDim: 128, Hidden: 8192, Intermediate: 28672, Vocab: 128256, Context: 131072, WeightBytes: 1, KVBytes: 2},
	{Name: "qwen2.5-7b", Layers: 28, Heads: 28, KVHeads: 4, HeadDim: 128, Hidden: 3584, Intermediate: 18944, Vocab: 152064, Context: 32768, WeightBytes: 2, KVBytes: 2},
}

// ModelNames lists the built-in shapes, the default first.
func ModelNames() []string { return names(models, func(m Model) string { return m.Name }) }

func LookupModel(name string) (Model, error) {
	return find("model shape", models, ModelNames(), name)
}

// layerWeights counts the matrix weights of a layer: query, output, key, value and MLP.
func (m *Model) layerWeights() float64 {
	hidden, query, kv := float64(m.Hidden), float64(m.Heads*m.HeadDim), float64(m.KVHeads*m.HeadDim)
	return 2*hidden*query + 2*hidden*kv + 3*hidden*float64(m.Intermediate)
}

// headWeights is the number of weights in the output matrix.
func (m *Model) headWeights() float64 { return float64(m.Hidden) * float64(m.Vocab) }

// Parameters counts weights, without biases: layers, embedding, output matrix and norms.
func (m *Model) Parameters() int64 {
	matrices := m.headWeights()
	if !m.Tied {
		matrices *= 2
	}
	norms := float64(2*m.Layers+1) * float64(m.Hidden)
	return int64(float64(m.Layers)*m.layerWeights() + matrices + norms)
}

// Bytes is what the weights take on the device.
func (m *Model) Bytes() int64 { return m.Parameters() * int64(m.WeightBytes) }

// KVTokenBytes is what K and V of one token take on all layers.
func (m *Model) KVTokenBytes() int64 {
	return 2 * int64(m.Layers) * int64(m.KVHeads) * int64(m.HeadDim) * int64(m.KVBytes)
}

// Workspace is the bytes of the activations of a step: the widest layer's
// buffers for each of its tokens and the logits of each output.
func (m *Model) Workspace(tokens, outputs int) int64 {
	width := 2*int64(m.Hidden) + int64(m.Heads+2*m.KVHeads)*int64(m.HeadDim) + 2*int64(m.Intermediate)
	return int64(tokens)*width*activationBytes + int64(outputs)*int64(m.Vocab)*4
}
