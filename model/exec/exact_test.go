package exec_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

func devices(t testing.TB) map[string]gpu.Device {
	t.Helper()
	c, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]gpu.Device{"ref": ref.New(), "cpu": c}
}

// requests covers what makes one request differ from another.
func requests() []*messages.EngineRequest {
	prompt := func(n, salt int) []int32 {
		var p []int32
		for i := range n {
			p = append(p, int32((i*i+salt*7+i*salt)%97))
		}
		return p
	}
	all := []func(p *messages.SamplingParams){
		nil,
		func(p *messages.SamplingParams) { p.TopLogprobs, p.PromptLogprobs = 3, 2 },
		func(p *messages.SamplingParams) {
			p.Temperature, p.Seed, p.TopK, p.TopP, p.TopLogprobs = 1.2, 11, 40, 0.9, 0
		},
		func(p *messages.SamplingParams) {
			p.Temperature, p.Seed, p.Choice = 0.9, 11, 3
			p.FrequencyPenalty, p.PresencePenalty, p.RepetitionPenalty = 0.7, 0.4, 1.3
		},
		func(p *messages.SamplingParams) {
			p.RepetitionPenalty, p.MinTokens, p.StopTokenIDs, p.EOSTokenIDs = 1.5, 9, []int32{4, 60}, []int32{1}
			p.LogitBias = []messages.TokenBias{{Token: 4, Bias: 20}, {Token: 9, Bias: -3}}
			p.PromptLogprobs, p.PromptLogprobStart = 0, 8
		},
	}
	var out []*messages.EngineRequest
	for i, change := range all {
		out = append(out, &messages.EngineRequest{ID: messages.RequestID(i + 1), Prompt: prompt(17+3*i, i), Params: params(change)})
	}
	return out
}

const outputs = 14

// same compares everything that a request got, to the bit.
func same(t *testing.T, what string, got, want *life) {
	t.Helper()
	if !reflect.DeepEqual(got.output, want.output) {
		t.Errorf("%s: tokens %v, want %v", what, got.output, want.output)
	}
	if !reflect.DeepEqual(got.logprobs, want.logprobs) {
		t.Errorf("%s: log probabilities differ", what)
	}
	if !reflect.DeepEqual(got.prompt, want.prompt) {
		t.Errorf("%s: prompt log probabilities %v, want %v", what, got.prompt, want.prompt)
	}
}

// TestSameBitsHoweverItRuns: a request's results do not depend on chunks, batch
// mates, pages, a cached prefix, a retraction or a resubmission.
func TestSameBitsHoweverItRuns(t *testing.T) {
	for _, keys := range []map[string]any{{}, {"architectures": []string{"Qwen3ForCausalLM"}, "head_dim": 16}} {
		c := dummy(t, keys)
		for name, device := range devices(t) {
			for _, kv := range []gpu.DType{gpu.F32, gpu.BF16} {
				t.Run(fmt.Sprint(c.Program.Name, "/", name, "/", kv), func(t *testing.T) {
					sameBits(t, func(pageSize int) *driver { return newDriver(t, device, c, kv, pageSize) })
				})
			}
		}
	}
}

func sameBits(t *testing.T, start func(pageSize int) *driver) {
	reqs := requests()
	base := make([]*life, len(reqs))
	for i, r := range reqs { // alone, in one piece
		base[i] = &life{req: r, maxChunk: 1 << 20, wanted: outputs}
		start(16).runAll(base[i])
	}
	for _, c := range []struct{ pageSize, chunk int }{{1, 1 << 20}, {1, 7}, {4, 1}, {16, 7}, {16, 1 << 20}} {
		d := start(c.pageSize)
		var lives []*life
		for i, r := range reqs[:4] { // together
			lives = append(lives, &life{row: messages.Row(i), req: r, maxChunk: c.chunk, wanted: outputs})
		}
		d.runAll(lives...)
		for i, l := range lives {
			same(t, fmt.Sprintf("request %d, page %d, chunk %d", i, c.pageSize, c.chunk), l, base[i])
		}
	}
	for i, r := range reqs {
		interrupted(t, start(4), i, r, base[i])
	}
}

// interrupted runs a request with a retraction, with a cached prefix and after
// a resubmission.
func interrupted(t *testing.T, d *driver, i int, r *messages.EngineRequest, base *life) {
	mate := &life{row: 3, req: &messages.EngineRequest{Prompt: []int32{5, 6}, Params: params(nil)}, maxChunk: 2}
	l := &life{row: 0, req: r, maxChunk: 7, wanted: 5}
	d.runAll(l)
	d.retract(l, 1, mate)
	l.wanted = 10
	d.runAll(l)
	old := *l
	d.retract(l, 2, mate)
	// Its whole pages are in the cache now; prompt scores need the logits.
	if r.Params.PromptLogprobs < 0 {
		l.cached = old.pages[:(len(r.Prompt)+7)/d.pool.PageSize]
	}
	l.wanted = outputs
	d.runAll(l)
	same(t, fmt.Sprintf("request %d, retracted twice", i), l, base)

	again := *r
	again.Output = base.output[:6]
	l = &life{row: 1, req: &again, output: again.Output, logprobs: base.logprobs[:min(6, len(base.logprobs))], maxChunk: 1 << 20, wanted: outputs}
	d.runAll(l)
	if l.prompt != nil {
		t.Errorf("request %d, submitted again: the log probabilities of its prompt came again", i)
	}
	l.prompt = base.prompt
	same(t, fmt.Sprintf("request %d, submitted again", i), l, base)
}

// TestPromptLogprobsAreThoseOfTheLogits compares the reported values with a
// log-softmax of the raw logits, and the positions with the parameters.
func TestPromptLogprobsAreThoseOfTheLogits(t *testing.T) {
	c := dummy(t, nil)
	prompt := requests()[4].Prompt
	for _, begin := range []int{0, 1, 2, 8, len(prompt) - 1, len(prompt), 1000} {
		for _, chunk := range []int{1, 7, 1 << 20} {
			d := newDriver(t, ref.New(), c, gpu.F32, 16)
			l := &life{maxChunk: chunk, wanted: 3, req: &messages.EngineRequest{Prompt: prompt,
				Params: params(func(p *messages.SamplingParams) { p.PromptLogprobs, p.PromptLogprobStart = 2, begin })}}
			d.runAll(l)

			m, err := ref.New().Load(c.Program, c.Weights, nil)
			if err != nil {
				t.Fatal(err)
			}
			logits, err := exec.Logits(m, c.Program, prompt)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for p := max(1, begin); p < len(prompt); p++ {
				count++
				got, ok := l.prompt[p]
				want := logprob(logits[p-1], prompt[p])
				if !ok || got.Chosen.Token != prompt[p] || math.Abs(float64(got.Chosen.Logprob)-want) > 1e-5 || len(got.Top) != 2 {
					t.Errorf("start %d, chunk %d, position %d: %+v, want token %d with %g", begin, chunk, p, got, prompt[p], want)
				}
			}
			if len(l.prompt) != count {
				t.Errorf("start %d, chunk %d: %d positions, want %d", begin, chunk, len(l.prompt), count)
			}
		}
	}
}

func logprob(logits []float32, token int32) float64 {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v))
	}
	return float64(logits[token]) - math.Log(sum)
}

func TestLogitsRefusesBadTokens(t *testing.T) {
	c := dummy(t, nil)
	m, err := ref.New().Load(c.Program, c.Weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]int32{nil, {1, 97}, {-1}, make([]int32, 257)} {
		if _, err := exec.Logits(m, c.Program, bad); err == nil {
			t.Errorf("%d tokens were computed", len(bad))
		}
	}
	long := make([]int32, 256)
	rows, err := exec.Logits(m, c.Program, long)
	if err != nil || len(rows) != 256 || len(rows[255]) != 97 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
