//go:build cuda

package cuda

import "unsafe"

// What the host uploads for a step and what comes back: the structs of kernels/step.cuh,
// with the same layout. A test compares the two.

type stepHeader struct {
	tokens, outputs, samples, scores int32
	pageShift, pageStride, vocab, _  int32
	tokenID, tokenPosition, tokenRow uint64
	outputToken, pageTable, sampled  uint64
	sample, score                    uint64
	history, bias, masked, allowed   uint64
	sampleResult, scoreResult, top   uint64
}

type sampleSpec struct {
	output, row                     int32
	temperature, topP, minP         float32
	topK                            int32
	repetition, frequency, presence float32
	historyAt, historyN             int32
	biasAt, biasN                   int32
	maskedAt, maskedN               int32
	allowedAt                       int32
	score                           int32
	top, topAt                      int32
	choice                          uint32
	seed, position                  uint64
}

type scoreSpec struct{ output, target, top, topAt int32 }

type tokenCount struct{ token, output, inPrompt int32 }

type tokenBias struct {
	token int32
	bias  float32
}

type pageWrite struct{ row, index, page int32 }

type sampleResult struct{ token, status, nanToken, _ int32 }

// Values of sampleResult.status.
const (
	statusSampled = iota
	statusNothing // every token is excluded
	statusNaN     // a logit is not a number
)

type scoreResult struct {
	logprob float32
	token   int32
}

type topEntry struct {
	token   int32
	logprob float32
}

const headerBytes = int64(unsafe.Sizeof(stepHeader{}))

// bytesOf is the memory of a slice.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// valuesOf is memory as n values from an offset on.
func valuesOf[T any](b []byte, at int64, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[at])), n)
}
