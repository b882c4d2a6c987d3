package exec_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/exec"
)

func drawParams(t *rapid.T) *messages.SamplingParams {
	token := rapid.Int32Range(0, vocab+3) // some that the model does not have
	maybe := func(v float32) float32 { return rapid.SampledFrom([]float32{0, v}).Draw(t, "penalty") }
	return &messages.SamplingParams{
		Temperature: maybe(1), TopP: 1, TopK: rapid.Int32Range(0, 3).Draw(t, "top_k"),
		FrequencyPenalty: maybe(0.5), PresencePenalty: maybe(-1), RepetitionPenalty: 1 + maybe(0.5),
		Seed: rapid.Uint64().Draw(t, "seed"), Choice: rapid.Uint32Range(0, 2).Draw(t, "choice"),
		MinTokens:    rapid.IntRange(0, 6).Draw(t, "min_tokens"),
		StopTokenIDs: rapid.SliceOfN(token, 0, 2).Draw(t, "stop"), EOSTokenIDs: rapid.SliceOfN(token, 0, 2).Draw(t, "eos"),
		IgnoreEOS:      rapid.Bool().Draw(t, "ignore_eos"),
		LogitBias:      rapid.SampledFrom([][]messages.TokenBias{nil, {{Token: 2, Bias: 5}}}).Draw(t, "bias"),
		TopLogprobs:    rapid.IntRange(-1, 1).Draw(t, "top_logprobs"),
		PromptLogprobs: rapid.IntRange(-1, 2).Draw(t, "prompt_logprobs"), PromptLogprobStart: rapid.IntRange(0, 12).Draw(t, "start"),
	}
}

// TestParametersAreTranslated: what the device gets of a request, field by
// field.
func TestParametersAreTranslated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawParams(t)
		ids := rapid.SliceOfN(rapid.Int32Range(0, vocab-1), 1, 14)
		req := &messages.EngineRequest{Prompt: ids.Draw(t, "prompt"), Params: p}
		output := rapid.SampledFrom([][]int32{nil, {4}, {5, 5, 6}}).Draw(t, "output")
		req.Output = output[:rapid.IntRange(0, len(output)).Draw(t, "submitted")]
		var got gpu.RowOpened
		m := &recorder{answer: func(b *gpu.StepBatch) (*gpu.StepResult, error) { got = b.Opened[0]; return constant(1)(b) }}
		exec.New(m, exec.Options{Vocab: vocab}).Submit(&messages.RunBatch{Header: messages.Header{Epoch: 1}, Step: 1, Opened: []messages.RowOpened{{Row: 3, Request: req, Output: output, Pages: pages(7, 8)}},
			Work: []messages.RowWork{{Row: 3, Count: 1}}}, func(_ *messages.BatchDone, err error) {
			if err != nil {
				t.Fatal(err)
			}
		})
		if got.Row != 3 || !slices.Equal(got.Prompt, req.Prompt) || !slices.Equal(got.Output, output) || !slices.Equal(got.Pages, []int32{7, 8}) {
			t.Fatalf("opened as %+v", got)
		}
		s := got.Sampling
		if s.Temperature != p.Temperature || s.TopP != p.TopP || s.MinP != p.MinP || s.TopK != p.TopK ||
			s.FrequencyPenalty != p.FrequencyPenalty || s.PresencePenalty != p.PresencePenalty || s.RepetitionPenalty != p.RepetitionPenalty ||
			s.Seed != p.Seed || s.Choice != p.Choice || s.MinTokens != p.MinTokens || s.TopLogprobs != p.TopLogprobs || len(s.Bias) != len(p.LogitBias) {
			t.Fatalf("sampling %+v of %+v", s, p)
		}
		for i, b := range p.LogitBias {
			if s.Bias[i] != gpu.TokenBias(b) {
				t.Fatalf("bias %v of %v", s.Bias, p.LogitBias)
			}
		}
		for token := range int32(vocab + 4) {
			ends := p.MinTokens > 0 && token < vocab && (slices.Contains(p.StopTokenIDs, token) || !p.IgnoreEOS && slices.Contains(p.EOSTokenIDs, token))
			if slices.Contains(s.EndTokens, token) != ends {
				t.Fatalf("end tokens %v of %+v", s.EndTokens, p)
			}
		}
		wanted := 0 // positions of the prompt after the first
		for at := 1; at < len(req.Prompt); at++ {
			if p.PromptLogprobs >= 0 && len(req.Output) == 0 && at >= p.PromptLogprobStart {
				wanted++
				if at < got.Score.From || at >= got.Score.To || got.Score.Top != p.PromptLogprobs {
					t.Fatalf("position %d is not in %+v", at, got.Score)
				}
			}
		}
		if max(0, got.Score.To-got.Score.From) != wanted {
			t.Fatalf("scores %+v, want %d positions", got.Score, wanted)
		}
	})
}
