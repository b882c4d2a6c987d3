package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Bounds of one call.
const (
	maxPrompts  = 1024    // choices: prompts times n
	maxCallText = 6 << 20 // bytes of text that are tokenised
	maxCallIDs  = 8 << 20 // token ids of all prompts together
	// maxTokenBytes is how many bytes of text a token of the context may have on
	// average. Real text has four or five, long runs of one character more.
	maxTokenBytes = 32
	maxEscape     = 6 // bytes of JSON for a byte of text: \u0041
)

// prompt is one prompt of a call.
type prompt struct {
	ids  []int32 // frozen
	text string  // the client's text, or that of its ids; "" without an echo
}

// promptReader reads the prompts of one call within their bounds.
type promptReader struct {
	ctx       context.Context
	model     *Model
	param     string
	echo      bool
	text, ids int // bytes and ids that may still come
}

// parsePrompts reads a string, a list of strings, a list of token ids, or a list of
// those; list reports the plural forms. What is too long for the context is not read.
func parsePrompts(ctx context.Context, m *Model, raw promptJSON, param string, echo bool) (prompts []prompt, list bool, err *apiError) {
	if isNull(raw) {
		return nil, false, invalid(param, `"%s" is missing; send text or token ids`, param)
	}
	r := promptReader{ctx, m, param, echo, maxCallText, maxCallIDs}
	prompts, list, err = oneOrMany(raw, param, raw[0] == '"' || isIDs(raw),
		"a string, an array of strings, an array of token ids, or an array of such arrays", maxPrompts, r.one)
	switch {
	case err != nil:
		return nil, false, err.about(param)
	case len(prompts) == 0:
		return nil, false, invalid(param, "%s is empty; send at least one token", param)
	}
	return prompts, list, nil
}

// oneOrMany reads raw itself, if it is a single value, or each entry of the list that
// raw must be, at most most. name says where an entry is, kinds what is allowed.
func oneOrMany[T any](raw []byte, param string, single bool, kinds string, most int, read func(raw []byte, name string) (T, *apiError)) (all []T, list bool, err *apiError) {
	if single {
		one, err := read(raw, param)
		return []T{one}, false, err
	}
	isArray, err := eachOf(raw, param, most, func(i int, raw []byte) *apiError {
		one, err := read(raw, fmt.Sprintf("%s[%d]", param, i))
		all = append(all, one)
		return err
	})
	if err == nil && !isArray {
		err = invalid(param, "%s must be %s", param, own(kinds))
	}
	return all, true, err
}

// one reads one string or list of token ids.
func (r *promptReader) one(raw []byte, name string) (prompt, *apiError) {
	if r.ctx.Err() != nil {
		return prompt{}, clientGone(r.ctx, nil)
	}
	switch raw[0] {
	case '"':
	case '[':
		return r.listed(raw, name)
	default:
		return prompt{}, invalid(name, "%s is neither a string nor an array of token ids; send only strings or only arrays of token ids", name)
	}
	err := r.model.fits(len(raw)-2, name) // without reading it
	if err != nil && bytes.IndexByte(raw, '\\') >= 0 {
		err = r.model.fits(len(raw)/maxEscape, name)
	}
	if err != nil {
		return prompt{}, err
	}
	text, _ := jsonread.Text(raw)
	if text == "" {
		return prompt{}, invalid(name, "%s is empty; send at least one token", name)
	}
	if r.text -= len(text); r.text < 0 {
		return prompt{}, invalid(name, "%s has more than %d bytes of text in total; split the request", r.param, own(maxCallText))
	}
	ids, err := r.model.encode(text, name)
	if !r.echo {
		return prompt{ids: ids}, err
	}
	return prompt{ids, strings.Clone(text)}, err // without the body
}

func (r *promptReader) listed(raw []byte, name string) (prompt, *apiError) {
	ids, count, err := parseIDs(r.model, raw, name, r.model.counted())
	switch {
	case err != nil:
	case count == 0:
		err = invalid(name, "%s is empty; send at least one token", name)
	case count > r.model.counted():
		err = r.model.overlong(name)
	case count > r.ids:
		err = invalid(name, "%s has more than %d token ids in total; split the request", r.param, own(maxCallIDs))
	}
	if r.ids -= count; err != nil || !r.echo {
		return prompt{ids: ids}, err
	}
	if r.text -= r.model.decodedBytes(ids); r.text < 0 {
		return prompt{}, invalid(name, "the text of %s has more than %d bytes, too many to echo; split the request", r.param, own(maxCallText))
	}
	return prompt{ids, r.model.Tokenizer.Decode(ids, tokenizer.DecodeOptions{SkipSpecial: true})}, nil
}

// checkChoices bounds the choices of all prompts together; param is n's name.
func checkChoices(param string, prompts, n int) *apiError {
	if total := prompts * n; total > maxPrompts {
		return invalid(param, "%d prompts with n = %d make %d choices; at most %d are allowed in one request", own(prompts), n, own(total), own(maxPrompts))
	}
	return nil
}

// counted is how many tokens of a prompt are counted: intake's error says by how
// much a prompt is too long, but counting must not cost too much.
func (m *Model) counted() int { return 4 * m.Context }

// fits refuses a text that is too long, in bytes, for the context.
func (m *Model) fits(size int, name string) *apiError {
	most := m.textBytes()
	if size <= most {
		return nil
	}
	return invalid(name, "%s has at least %d bytes, but this server accepts at most %d, because prompts have at most %d tokens; shorten it", name, own(size), own(most), own(m.Context-1)).coded(codeTooLong)
}

// textBytes is how long the text of a prompt may be, in bytes.
func (m *Model) textBytes() int {
	each := maxTokenBytes
	if longest := m.Tokenizer.LongestToken(); longest > 0 {
		each = min(each, longest)
	}
	return min(m.Context*each, maxCallText)
}

// encode tokenises a prompt, special tokens included.
func (m *Model) encode(text, name string) ([]int32, *apiError) {
	if err := m.fits(len(text), name); err != nil {
		return nil, err
	}
	ids := m.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: true, ParseSpecial: true, Max: m.counted()})
	switch {
	case len(ids) == 0:
		return nil, invalid(name, "%s has no tokens; send at least one", name)
	case len(ids) > m.counted():
		return nil, m.overlong(name)
	}
	return ids, nil
}

// overlong refuses a prompt of more tokens than are counted.
func (m *Model) overlong(name string) *apiError {
	return invalid(name, "%s has more than %d tokens, but this server accepts prompts of at most %d; shorten it", name, own(m.counted()), own(m.Context-1)).coded(codeTooLong)
}
