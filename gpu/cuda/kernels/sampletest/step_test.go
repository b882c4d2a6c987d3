package sampletest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"testing"
)

// The structures of step.cuh.
type (
	sampleSpec struct {
		Output, Row                       int32
		Temperature, TopP, MinP           float32
		TopK                              int32
		Repetition, Frequency, Presence   float32
		HistoryAt, HistoryN, BiasAt       int32
		BiasN, MaskedAt, MaskedN, Allowed int32
		Score, Top, TopAt                 int32
		Choice                            uint32
		Seed, Position                    uint64
	}
	scoreSpec  struct{ Output, Target, Top, TopAt int32 }
	tokenCount struct{ Token, Output, InPrompt int32 }
	tokenBias  struct {
		Token int32
		Bias  float32
	}
	sampleResult struct{ Token, Status, NaN, Reserved int32 }
	scoreResult  struct {
		Logprob float32
		Token   int32
	}
	topEntry struct {
		Token   int32
		Logprob float32
	}
)

// step is what one launch of both kernels works on.
type step struct {
	vocab, outputs, rows, scoreResults, entries int
	threads, sampleGrid, scoreGrid, schedule    int

	logits  []float32 // [outputs][vocab]
	samples []sampleSpec
	scores  []scoreSpec
	history []tokenCount
	bias    []tokenBias
	masked  []int32
	allowed []uint32
}

type results struct {
	samples []sampleResult
	sampled []int32
	scores  []scoreResult
	top     []topEntry
}

// runner is the program, which serves steps one after another.
type runner struct {
	in  io.WriteCloser
	out io.Reader
}

func start(t *testing.T, program string) *runner {
	t.Helper()
	cmd := exec.Command(program, "serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &runner{in, out}
}

func (r *runner) run(s *step) (results, error) {
	var b bytes.Buffer
	write := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	for _, n := range []int{s.vocab, s.outputs, len(s.samples), len(s.scores), len(s.history), len(s.bias), len(s.masked), len(s.allowed),
		s.rows, s.scoreResults, s.entries, s.threads, s.sampleGrid, s.scoreGrid, s.schedule} {
		write(int32(n))
	}
	for _, x := range s.logits {
		b.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	}
	for _, v := range []any{s.samples, s.scores, s.history, s.bias, s.masked, s.allowed} {
		write(v)
	}
	if _, err := r.in.Write(b.Bytes()); err != nil {
		return results{}, err
	}
	got := results{make([]sampleResult, len(s.samples)), make([]int32, s.rows), make([]scoreResult, s.scoreResults), make([]topEntry, s.entries)}
	var length int32
	for _, v := range []any{got.samples, got.sampled, got.scores, got.top, &length} {
		if err := binary.Read(r.out, binary.LittleEndian, v); err != nil {
			return results{}, err
		}
	}
	if length > 0 {
		text := make([]byte, length)
		if _, err := io.ReadFull(r.out, text); err != nil {
			return results{}, err
		}
		return results{}, fmt.Errorf("%s", text)
	}
	return got, nil
}
