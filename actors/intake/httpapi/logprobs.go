package httpapi

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// chatLogprobs is the logprobs object of a chat choice.
type chatLogprobs struct {
	Content []chatLogprob `json:"content"`
	Refusal []chatLogprob `json:"refusal"` // always null: nothing is refused token by token
}

type chatLogprob struct {
	chatTopLogprob
	Top []chatTopLogprob `json:"top_logprobs"`
}

type chatTopLogprob struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// lowestLogprob is minus infinity in the API's description; JSON has no infinity.
const lowestLogprob = -9999

func finite(lp float32) float32 {
	if !(lp > lowestLogprob) {
		return lowestLogprob
	}
	return lp
}

// tokenString is a token as text, with U+FFFD for what is not UTF-8.
func tokenString(m *Model, id int32) string {
	return strings.ToValidUTF8(string(m.Tokenizer.TokenBytes(id)), "\uFFFD")
}

func chatToken(m *Model, lp messages.TokenLogprob) chatTopLogprob {
	raw := m.Tokenizer.TokenBytes(lp.Token)
	bytes := make([]int, len(raw))
	for i, b := range raw {
		bytes[i] = int(b)
	}
	return chatTopLogprob{Token: tokenString(m, lp.Token), Logprob: finite(lp.Logprob), Bytes: bytes}
}

func newChatLogprobs(m *Model, tokens []messages.OutputToken) *chatLogprobs {
	l := &chatLogprobs{Content: []chatLogprob{}}
	for _, t := range tokens {
		if t.Logprobs == nil {
			continue
		}
		entry := chatLogprob{chatTopLogprob: chatToken(m, t.Logprobs.Chosen), Top: []chatTopLogprob{}}
		for _, top := range t.Logprobs.Top {
			entry.Top = append(entry.Top, chatToken(m, top))
		}
		l.Content = append(l.Content, entry)
	}
	return l
}

// textLogprobs is the logprobs object of a completions choice: parallel lists.
type textLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []float32            `json:"token_logprobs"`
	TopLogprobs   []map[string]float32 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"` // in characters
}

// textOffsets turns intake's offsets in bytes into ones in characters, the echo included.
type textOffsets struct {
	bytes, chars int    // the last offset
	rest         string // text after it
}

func (o *textOffsets) add(text string) { o.rest += text }

func (o *textOffsets) at(byteOffset int) int {
	step := min(max(byteOffset-o.bytes, 0), len(o.rest))
	o.chars += utf8.RuneCountInString(o.rest[:step])
	o.bytes += step
	o.rest = o.rest[step:]
	return o.chars
}

// textToken is a token as the completions API writes it. Tokens that are not UTF-8
// show their bytes, so that they stay distinct.
func textToken(m *Model, id int32) string {
	raw := m.Tokenizer.TokenBytes(id)
	if utf8.Valid(raw) {
		return string(raw)
	}
	return "bytes:\\x" + strings.ReplaceAll(fmt.Sprintf("% x", raw), " ", "\\x")
}

// append adds a token. lp is nil for the first token of a prompt: nothing is before
// it, so its probability is 1 and the log 0. The API's description has no null here.
func (l *textLogprobs) append(m *Model, token int32, lp *messages.PositionLogprobs, offset int) {
	l.Tokens = append(l.Tokens, textToken(m, token))
	l.TextOffset = append(l.TextOffset, offset)
	top, chosen := map[string]float32{}, float32(0)
	add := func(token int32, lp float32) { // different tokens can have the same text; the likeliest stays
		s := textToken(m, token)
		if _, met := top[s]; !met {
			top[s] = lp
		}
	}
	if lp != nil {
		chosen = finite(lp.Chosen.Logprob)
		for _, t := range lp.Top {
			add(t.Token, finite(t.Logprob))
		}
		if len(lp.Top) > 0 {
			add(token, chosen) // in the API the chosen token is in addition to the number requested
		}
	}
	l.TokenLogprobs = append(l.TokenLogprobs, chosen)
	l.TopLogprobs = append(l.TopLogprobs, top)
}

// output appends the tokens of an output.
func (l *textLogprobs) output(m *Model, out *messages.CallOutput, offsets *textOffsets) {
	offsets.add(out.Text)
	for _, t := range out.Tokens {
		l.append(m, t.Token, t.Logprobs, offsets.at(t.TextOffset))
	}
}

// prompt appends an echoed prompt of chars characters; lps are of its last tokens.
func (l *textLogprobs) prompt(m *Model, ids []int32, lps []messages.PositionLogprobs, chars int) {
	text, at := m.Tokenizer.NewStream(tokenizer.DecodeOptions{SkipSpecial: true}), 0
	for i, id := range ids {
		var lp *messages.PositionLogprobs
		if known := i - (len(ids) - len(lps)); known >= 0 {
			lp = &lps[known]
		}
		l.append(m, id, lp, min(at, chars))
		at += utf8.RuneCountInString(text.Push(id))
	}
}
