package node

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// littleQwen is the shape of Qwen2.5-0.5B. Its weights are random: a mask costs the same.
const littleQwen = `{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "vocab_size": 151936, "hidden_size": 896,
	"intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
	"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "tie_word_embeddings": true,
	"torch_dtype": "bfloat16", "eos_token_id": 151645, "bos_token_id": 151643}`

// record is a schema of objects with free texts and numbers; each n is another one.
func record(n int) messages.Grammar {
	return messages.Grammar{Kind: string(grammar.JSONSchema), Text: fmt.Sprintf(`{"type": "array", "minItems": %d, "items": {"type": "object",
		"properties": {"name%d": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
		"required": ["name%d", "age", "tags"]}}`, 50+n, n, n)}
}

// toolCalls are calls of two tools in compact JSON.
func toolCalls(n int) messages.Grammar {
	return messages.Grammar{Kind: string(grammar.CompactSchema), Text: fmt.Sprintf(`{"type": "array", "minItems": %d, "items": {"anyOf": [
		{"type": "object", "properties": {"name": {"const": "get_current_weather"}, "arguments": {"type": "object", "properties": {
			"location": {"enum": ["San Francisco, CA", "New York, NY", "Paris, France"]}, "unit": {"enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
			"required": ["location", "unit", "days"], "additionalProperties": false}}, "required": ["name", "arguments"], "additionalProperties": false},
		{"type": "object", "properties": {"name": {"const": "set_reminder"}, "arguments": {"type": "object", "properties": {
			"minutes_from_now": {"type": "integer", "minimum": 1, "maximum": 99}, "repeat_every_day": {"type": "boolean"}},
			"required": ["minutes_from_now", "repeat_every_day"], "additionalProperties": false}}, "required": ["name", "arguments"], "additionalProperties": false}]}}`, 90+n)}
}

// BenchmarkConstrainedDecode decodes with grammars and without, by turns, and reports the ratio
// of tokens per second. The model has the shape of Qwen2.5-0.5B and its vocabulary.
func BenchmarkConstrainedDecode(b *testing.B) {
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS(conformance.Path(b, "tokenizers", "qwen25"))); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(littleQwen), 0o600); err != nil {
		b.Fatal(err)
	}
	c := configs.Default()
	c.Model, c.Open.LoadFormat, c.CPU.WeightDType = dir, "dummy", "q8_0"
	c.Pool.MaxTotalTokens, c.Requests.QueueTimeout = 16384, 0
	n := open(b, c, nil)
	for _, bench := range []struct {
		name   string
		rows   int
		tokens int
		of     func(int) messages.Grammar
	}{
		{"schema/1", 1, 120, record}, {"schema/32", 32, 60, record},
		{"compact calls/1", 1, 120, toolCalls}, {"compact calls/32", 32, 60, toolCalls},
	} {
		b.Run(bench.name, func(b *testing.B) {
			run := func(constrained bool, seed int) float64 { // tokens per second
				subs := make([]messages.Submission, bench.rows)
				for i := range subs {
					p := &messages.SamplingParams{Temperature: .8, TopP: 1, RepetitionPenalty: 1, Seed: uint64(seed*100 + i), MaxTokens: bench.tokens, IgnoreEOS: true,
						EOSTokenIDs: n.EOS(), TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
					if constrained {
						g := bench.of(i)
						p.Grammar = &g
					}
					subs[i] = messages.Submission{Prompt: []int32{9707, 11, 1879, int32(i)}, Params: p, After: -1}
				}
				return throughput(b, n, subs)
			}
			run(true, 0) // compiles
			var with, without []float64
			for i := 1; b.Loop(); i++ {
				without = append(without, run(false, i))
				with = append(with, run(true, i))
			}
			slices.Sort(with)
			slices.Sort(without)
			b.ReportMetric(without[len(without)/2], "tok/s-without")
			b.ReportMetric(with[len(with)/2]/without[len(without)/2], "with/without")
		})
	}
}

// throughput submits requests and waits for their ends.
func throughput(b *testing.B, n *Node, subs []messages.Submission) float64 {
	b.Helper()
	call := messages.CallID(1<<63 | localCalls.Add(1))
	events := make(chan messages.CallEvent, len(subs)+8)
	begin, tokens := time.Now(), 0
	n.Engine.Send(&messages.SubmitRequests{Call: call, UserID: fmt.Sprint("bench-", call), Events: events, Requests: subs})
	for open := len(subs); open > 0; {
		switch e := (<-events).(type) {
		case *messages.CallRefused:
			b.Fatal(e.Message)
		case *messages.CallOutput:
			if e.Finish != nil {
				if e.Finish.Reason != messages.FinishLength {
					b.Fatalf("it ended with %+v", e.Finish)
				}
				open--
				tokens += e.Usage.CompletionTokens
			}
			if e.Paused {
				n.Engine.Send(&messages.ResumeOutput{Call: call})
			}
		}
	}
	return float64(tokens) / math.Max(time.Since(begin).Seconds(), 1e-9)
}
