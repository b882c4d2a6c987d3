package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// answer turns the outputs of a call into an endpoint's JSON.
type answer interface {
	// events adds the events of one output.
	events(to *sse, out *messages.CallOutput)
	// last adds the events that follow the last output.
	last(to *sse)
	// whole is an answer that is not streamed. outputs are by index and complete.
	whole(outputs []*messages.CallOutput) any
}

// openAIAnswer is an answer of OpenAI's API and, with other choices, a chunk of a stream.
type openAIAnswer[C any] struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint,omitempty"`
	Choices     []C    `json:"choices"`
	Usage       any    `json:"usage,omitempty"` // *usage; nil leaves it out, a nil *usage is null

	served    func() string // the model's own fingerprint; nil: it has none
	engine    string        // whose fingerprint Fingerprint is, if an output has named one
	total     usage
	n         int  // choices of each prompt
	withUsage bool // a stream ends with the usage
	// convert sends the choices that an output makes.
	convert func(out *messages.CallOutput, send func(C))
}

func newOpenAIAnswer[C any](ctx context.Context, s *Server, m *Model, id, object string, n int, o *stream, convert func(*messages.CallOutput, func(C))) *openAIAnswer[C] {
	a := &openAIAnswer[C]{ID: id, Object: object, Created: s.Now().Unix(), Model: m.ID, n: n, convert: convert}
	if m.Fingerprint != nil {
		a.served = func() string { return m.Fingerprint(ctx) }
	}
	if a.withUsage = o.StreamOptions != nil && given(o.StreamOptions.IncludeUsage, false); a.withUsage {
		a.Usage = (*usage)(nil)
	}
	return a
}

// events implements answer: each choice is a chunk.
func (a *openAIAnswer[C]) events(to *sse, out *messages.CallOutput) {
	a.count(out)
	if f := out.Fingerprint; f != "" && f != a.engine {
		a.engine, a.Fingerprint = f, SystemFingerprint(f)
	}
	a.ownFingerprint()
	a.convert(out, func(c C) {
		a.Choices = append(a.Choices[:0], c)
		to.add(a)
	})
}

func (a *openAIAnswer[C]) last(to *sse) {
	if a.withUsage {
		a.Choices, a.Usage = []C{}, &a.total
		to.add(a)
	}
}

func (a *openAIAnswer[C]) whole(outputs []*messages.CallOutput) any {
	for _, out := range outputs {
		a.count(out)
		a.convert(out, func(c C) { a.Choices = append(a.Choices, c) })
	}
	a.fingerprint(outputs)
	a.ownFingerprint()
	a.Usage = &a.total
	return a
}

// ownFingerprint is that of the model, for outputs that do not name another. It is called
// when the first output is there: shortly after a start it may wait for the weights' hash.
func (a *openAIAnswer[C]) ownFingerprint() {
	if a.Fingerprint == "" && a.served != nil {
		a.Fingerprint = a.served()
	}
}

// fingerprint sets that of the engine that computed the outputs. Choices that different
// engines have computed are under all of their fingerprints.
func (a *openAIAnswer[C]) fingerprint(outputs []*messages.CallOutput) {
	var all []string
	for _, out := range outputs {
		if f := out.Fingerprint; f != "" && (len(all) == 0 || f != a.engine) {
			a.engine = f
			all = append(all, SystemFingerprint(f))
		}
	}
	if slices.Sort(all); len(all) > 0 {
		a.Fingerprint = strings.Join(slices.Compact(all), ",")
	}
}

func (a *openAIAnswer[C]) count(out *messages.CallOutput) {
	if out.Finish != nil {
		a.total.add(out.Usage, out.Index%a.n == 0)
	}
}

func finishWord(f *messages.Finish) *string { return new(string(f.Reason)) }
