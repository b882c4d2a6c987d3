package work

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Writer makes meaningless prompts of symbols, numbers below 2^31: token ids for a
// server that accepts them, else words. Equal symbols become equal tokens or words,
// so that equal prefixes stay equal.
type Writer struct {
	Vocab         int     // number of token ids of the model; 0 writes words
	TokensPerWord float64 // the server's average; 0 means 1
}

// Range is the range of ids that are written, [low, high). Models have control tokens
// and single bytes at the low end, and control tokens also at the high end.
func (w *Writer) Range() (low, high int32) {
	return int32(min(259, w.Vocab/2)), int32(w.Vocab - w.Vocab/64)
}

func (w *Writer) Describe() string {
	if w.Vocab > 0 {
		low, high := w.Range()
		return fmt.Sprintf("as token ids from %d to %d", low, high-1)
	}
	return fmt.Sprintf("as words, each counted as %.2f tokens", cmp.Or(w.TokensPerWord, 1))
}

// Turn writes a prompt of parts that are not empty, one symbol for each wanted token.
func (w *Writer) Turn(maxTokens int, parts ...[]int32) Turn {
	t := Turn{MaxTokens: maxTokens}
	var texts []string
	low, high := w.Range()
	for _, part := range parts {
		t.Input += len(part)
		if w.Vocab > 0 {
			for _, symbol := range part {
				t.IDs = append(t.IDs, low+symbol%(high-low))
			}
			continue
		}
		texts = append(texts, w.Text(part))
	}
	t.Text = strings.Join(texts, " ")
	return t
}

// Text writes symbols as words.
func (w *Writer) Text(symbols []int32) string {
	var text strings.Builder
	n := max(int(math.Round(float64(len(symbols))/cmp.Or(w.TokensPerWord, 1))), min(len(symbols), 1))
	for i := range n {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(words[int(symbols[i%len(symbols)])%len(words)])
	}
	return text.String()
}

func symbols(r *rand.Rand, n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = r.Int32()
	}
	return s
}

// words are common and short: with the space before it, most are one token.
var words = strings.Fields(`
	the and that have with this from they will would there their what about which
	when make like time just know take people into year your good some could them
	see other than then now look only come its over think also back after use two
	how our work first well way even new want because any these give day most us
	house water hand part place case week company system program question
	government number night point home room mother area money story fact month lot
	right study book eye job word business issue side kind head far black long
	little great big high small large next early young few public bad same able
	river green table light music paper north south morning window garden summer
	winter letter market road tree stone bird horse ship king child street field`)
