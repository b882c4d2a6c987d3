package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat/output"
)

// delivered cuts an output into pieces as intake does: the end of the text may begin the stop
// string, and a token comes when all of its text is final.
func delivered(m *Model, ids []int32, stop string) (all []*messages.CallOutput) {
	type token struct {
		messages.OutputToken
		end int
	}
	text, final := "", 0
	var waiting []token
	for i, id := range ids {
		from := len(text)
		text += string(m.Tokenizer.TokenBytes(id))
		waiting = append(waiting, token{messages.OutputToken{Token: id, TextOffset: from}, len(text)})
		hold := 0
		for n := 1; n < len(stop) && n <= len(text)-final; n++ {
			if i+1 < len(ids) && strings.HasSuffix(text[final:], stop[:n]) {
				hold = n
			}
		}
		out := &messages.CallOutput{Text: text[final : len(text)-hold]}
		for final = len(text) - hold; len(waiting) > 0 && waiting[0].end <= final; waiting = waiting[1:] {
			out.Tokens = append(out.Tokens, waiting[0].OutputToken)
		}
		all = append(all, out)
	}
	all[len(all)-1].Finish = &messages.Finish{Reason: messages.FinishStop, MatchedToken: m.EOS[0]}
	return all
}

// The parts of an answer do not depend on where its text waited because it could have become a
// stop string, also in the middle of a special token.
func TestPartsOfPieces(t *testing.T) {
	m := testModel(t)
	id := func(text string) int32 {
		id, ok := m.Tokenizer.TokenID(text)
		if !ok {
			t.Fatalf("no token %s", text)
		}
		return id
	}
	format := output.Format{Reasoning: output.Reasoning{Open: "<|user|>", Close: "<|end|>", Reopens: true}}
	tokens := []int32{id("<|user|>"), id("<|end|>"), id("a"), id("."), id("e")}
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom(tokens), 1, 12).Draw(t, "tokens")
		visible := rapid.Bool().Draw(t, "visible")
		read := func(stop string) string {
			p := &chatParts{model: m, format: &format, visible: visible, choices: make([]choiceParts, 1)}
			var thoughts, content string
			for _, out := range delivered(m, ids, stop) {
				p.take(out, func(one part) { thoughts, content = thoughts+one.reasoning, content+one.content })
			}
			return fmt.Sprintf("%q, %q, %d tokens", thoughts, content, p.choices[0].thoughts)
		}
		whole := read("")
		for _, stop := range []string{">zz", "|>zz", "d|>az", "<|user|>z", "a<|end|>e", "a.<|user|><|end|>z", "..z"} {
			if got := read(stop); got[:strings.LastIndex(got, ",")] != whole[:strings.LastIndex(whole, ",")] {
				t.Fatalf("%v with the stop string %q:\n got %s\nwant %s", ids, stop, got, whole)
			}
		}
	})
}

// A long answer is put together in a time that grows with its length.
func TestMergerJoins(t *testing.T) {
	var got []part
	m := merger{send: func(p part) { got = append(got, p) }}
	tool := &tool{custom: true}
	for range 200_000 {
		m.add(part{content: "some text"})
	}
	for range 2 {
		m.add(part{reasoning: "thought"})
	}
	m.add(part{call: &callPart{index: 0, id: "a", tool: tool}})
	m.add(part{call: &callPart{index: 0, tool: tool, arguments: "x"}})
	m.add(part{call: &callPart{index: 0, arguments: "y"}})
	m.add(part{call: &callPart{index: 1, id: "b", arguments: "z"}})
	m.flush()
	m.flush()
	if len(got) != 4 || len(got[0].content) != 9*200_000 || got[1].reasoning != "thoughtthought" ||
		*got[2].call != (callPart{0, "a", tool, "xy"}) || *got[3].call != (callPart{1, "b", nil, "z"}) {
		t.Errorf("%d parts: %.40v", len(got), got)
	}
}

// While an answer comes, it keeps of the tools only what may be called: a client can send many
// large ones for a long time.
func TestPartsKeepNoUnusedTools(t *testing.T) {
	m := testModel(t)
	m.Format = output.Format{Reasoning: output.Reasoning{Open: "<|user|>", Close: "<|end|>"}}
	for choice, callable := range map[string]int{`"none"`: 0, `{"function": {"name": "g"}}`: 1} {
		body := []byte(`[{"function": {"name": "f"}}, {"function": {"name": "g", "parameters": {"type": "object"}}}]`)
		req := &chatRequest{calling: calling{Tools: body, ToolChoice: []byte(choice)}}
		tools, err := req.calling.read()
		if err != nil {
			t.Fatal(err)
		}
		p, err := req.parts(m, &conversation{format: &m.Format, tools: tools}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := cmp.Or(p.tools, &toolbox{}); len(got.callable) != callable || got.all != nil || got.shown != nil {
			t.Errorf("%s: %+v", choice, got)
		}
		clear(body)
		for i := range p.options.Tools {
			if !json.Valid(p.options.Tools[i].Parameters) || !json.Valid(p.tools.callable[i].Parameters) {
				t.Errorf("%s: the parameters are a part of the body", choice)
			}
		}
	}
}
