package gpu

// Program is a model as a static list of ops. Immutable.
//
// Ops run in order for all tokens of a step: a buffer [rows, Width] has one row per
// token of the step, or per output with PerOutput.
type Program struct {
	Name    string // architecture and size, for logs
	Buffers []BufferSpec
	Weights []WeightSpec
	Ops     []Op
	KV      KVSpec
	Vocab   int // width of the logits
	Context int // positions at most
}

// Buffer is an index into Program.Buffers.
type Buffer int

// Weight is an index into Program.Weights, or NoWeight.
type Weight int

// NoWeight marks an absent optional weight.
const NoWeight Weight = -1

// BufferSpec is an activation buffer of F32 rows.
type BufferSpec struct {
	Name      string
	Width     int  // elements of a row
	PerOutput bool // one row per output of the step instead of one per token
}

// WeightSpec is a tensor by its name in Weights. Matrices are [outputs, inputs], row-major.
type WeightSpec struct {
	Name  string
	Shape []int // one or two dimensions
}

// KVSpec is the shape of a token's KV: for each layer, K and V of [Heads, HeadDim].
type KVSpec struct {
	Layers  int
	Heads   int // KV heads
	HeadDim int
}

// BytesPerToken is layers x heads x 2 (K and V) x the bytes of one, scale included.
func (k KVSpec) BytesPerToken(d DType) int64 {
	return int64(k.Layers) * int64(k.Heads) * 2 * int64(d.VectorBytes(k.HeadDim))
}

type Op interface{ op() }

// Embed writes the embedding row of each token: Out = Table[token].
type Embed struct {
	Table Weight // [vocab, width]
	Out   Buffer
}

// RMSNorm is Out = In / sqrt(mean(In^2) + Eps) * Gain, over each group of
// Group elements (Group = head_dim for QK norm, the whole width otherwise).
// In and Out may be the same buffer. Zhang and Sennrich 2019, eq. 4.
type RMSNorm struct {
	In, Out Buffer
	Gain    Weight // [Group]
	Group   int
	Eps     float32
}

// Linear is Out = In W^T + bias; with Accumulate Out += it (a residual).
type Linear struct {
	In, Out    Buffer
	W          Weight // [width of Out, width of In]
	Bias       Weight // [width of Out] or NoWeight
	Accumulate bool
}

// Rope rotates X in place, heads of HeadDim elements at the token's position: element i
// pairs with i + len(InvFreq) (the half-split layout of Hugging Face), angle = position
// * InvFreq[i], both parts times Scale (1 unless the model scales). Elements from
// 2*len(InvFreq) on are unchanged. Su et al. 2021. Angles and their sine and cosine are
// computed in float64, then rounded.
type Rope struct {
	X       Buffer
	HeadDim int
	InvFreq []float64
	Scale   float32
}

// StoreKV writes K and V of each token into the pool, rounded to its type.
type StoreKV struct {
	K, V  Buffer // [tokens, KV heads x head_dim]
	Layer int
}

// Attention is causal attention of each token over positions 0..its own, read through the
// sequence's page table. Query head h reads KV head h / (Heads/KV heads) (MHA, GQA, MQA).
type Attention struct {
	Q, Out Buffer // [tokens, Heads x head_dim]
	Layer  int
	Heads  int
	Scale  float32 // times q.k, usually 1/sqrt(head_dim)
}

// SiluMul is Out = Gate * sigmoid(Gate) * Up. Out may be Gate or Up.
type SiluMul struct{ Gate, Up, Out Buffer }

// Gather copies the rows whose logits are wanted from a per-token buffer into
// a per-output one. Ops after it run per output.
type Gather struct{ In, Out Buffer }

// Sample is the last op: it scores and samples from the logits [outputs, vocab]
// as the Sampling and ScoreSpec of each row say.
type Sample struct{ Logits Buffer }

func (Embed) op()     {}
func (RMSNorm) op()   {}
func (Linear) op()    {}
func (Rope) op()      {}
func (StoreKV) op()   {}
func (Attention) op() {}
func (SiluMul) op()   {}
func (Gather) op()    {}
func (Sample) op()    {}
