package wire

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// Limits bound what a peer may send. All are hard.
type Limits struct {
	Vocab    int // token ids are 0 to Vocab-1; example 32000
	Context  int // tokens of prompt and output together, for an engine at most those of its pool; example 4096
	Logprobs int // top log probabilities of a position; example 20
}

const (
	maxText    = 64 << 10 // bytes of a name, a cause or a namespace
	maxWhy     = 1 << 10  // bytes of the cause of a request's end, as it is sent: there may be many
	maxBias    = 4096     // entries of logit_bias, and tokens that end an output
	maxKind    = 64       // bytes of the name of a kind of grammar
	maxGrammar = 4 << 20  // of a grammar, as in package grammar
	maxMark    = 256      // tokens of the mark that ends thoughts
	maxBytes   = 16 << 20 // of a description of a cache, and of a snapshot
)

// BulkBytes bounds a Bulk.
const BulkBytes = 64 << 20

// enqueueBytes is what the requests of one Bulk have together, unless one has more.
const enqueueBytes = 16 << 20

func (l *Limits) token(id int32) error {
	if id < 0 || int(id) >= l.Vocab {
		return fmt.Errorf("token %d is outside the vocabulary of %d", id, l.Vocab)
	}
	return nil
}

func (l *Limits) allTokens(lists ...[]int32) error {
	for _, list := range lists {
		for _, id := range list {
			if err := l.token(id); err != nil {
				return err
			}
		}
	}
	return nil
}

func texts(list ...string) error {
	for _, s := range list {
		if len(s) > maxText {
			return fmt.Errorf("a text has %d bytes; at most %d are allowed", len(s), maxText)
		}
	}
	return nil
}

// Clip makes a text fit to be sent: without it a cause with broken UTF-8 would end the link.
func Clip(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "?") }

func ids[From, To ~uint64](list []From) []To {
	if len(list) == 0 {
		return nil
	}
	to := make([]To, len(list))
	for i, id := range list {
		to[i] = To(id)
	}
	return to
}

// count converts a number of things that fit into memory.
func count(n uint64) (int, error) {
	if n > 1<<40 {
		return 0, fmt.Errorf("%d is not a possible count", n)
	}
	return int(n), nil
}

func header(slot messages.EngineID, epoch uint32) messages.Header {
	return messages.Header{Engine: slot, Epoch: messages.Epoch(epoch)}
}
