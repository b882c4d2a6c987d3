package wire

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-engine/troupe/messages"
)

func EncodeEpochStarted(m *messages.EpochStarted) *Frame {
	return &Frame{Body: &Frame_EpochStarted{&EpochStarted{Epoch: uint32(m.Epoch)}}}
}

func EncodeEpochEnded(m *messages.EpochEnded) *Frame {
	return &Frame{Body: &Frame_EpochEnded{&EpochEnded{Epoch: uint32(m.Epoch), Cause: Clip(m.Cause, maxText), Suspects: ids[messages.RequestID, uint64](m.Suspects),
		Requests: ids[messages.RequestID, uint64](m.Requests), Seq: m.Seq}}}
}

// EncodeResults translates results without keeping their memory.
func EncodeResults(m *messages.StepResults) *Frame {
	to := &Results{Epoch: uint32(m.Epoch), Seq: m.Seq, Step: uint64(m.Step), Admitted: ids[messages.RequestID, uint64](m.Admitted)}
	for i := range m.Prompts {
		p := &m.Prompts[i]
		to.Prompts = append(to.Prompts, &Prompt{Id: uint64(p.ID), CachedTokens: uint64(p.CachedTokens), Logprobs: encodePositions(p.Logprobs)})
	}
	if n := len(m.Tokens); n > 0 {
		to.Ids, to.Positions, to.Tokens = make([]int64, n), make([]uint32, n), make([]int32, n)
	}
	before, some := messages.RequestID(0), false
	for i := range m.Tokens {
		t := &m.Tokens[i]
		to.Ids[i], to.Positions[i], to.Tokens[i] = int64(t.ID-before), uint32(t.Position), t.Token
		before, some = t.ID, some || t.Logprobs != nil
	}
	if some {
		to.Logprobs = make([]*Position, len(m.Tokens))
		for i := range m.Tokens {
			to.Logprobs[i] = &Position{}
			if p := m.Tokens[i].Logprobs; p != nil {
				to.Logprobs[i] = encodePosition(p)
			}
		}
	}
	for i := range m.Ended {
		e := &m.Ended[i]
		to.Ended = append(to.Ended, &Ended{Id: uint64(e.ID), Reason: uint32(e.Reason), Token: e.Token, Why: Clip(e.Why, maxWhy)})
	}
	return &Frame{Body: &Frame_Results{to}}
}

func decodeResults(r *Results, slot messages.EngineID, l *Limits) (*messages.StepResults, error) {
	n := len(r.Tokens)
	if len(r.Ids) != n || len(r.Positions) != n || len(r.Logprobs) != 0 && len(r.Logprobs) != n {
		return nil, fmt.Errorf("results have %d ids, %d positions, %d tokens and %d log probabilities", len(r.Ids), len(r.Positions), n, len(r.Logprobs))
	}
	m := &messages.StepResults{
		Header: header(slot, r.Epoch), Seq: r.Seq, Step: messages.StepID(r.Step), Admitted: ids[uint64, messages.RequestID](r.Admitted),
		Tokens: make([]messages.TokenResult, n),
	}
	id := messages.RequestID(0)
	for i := range n {
		id += messages.RequestID(r.Ids[i])
		t := messages.TokenResult{ID: id, Position: int(r.Positions[i]), Token: r.Tokens[i]}
		if err := l.token(t.Token); err != nil {
			return nil, fmt.Errorf("request %d: %w", id, err)
		}
		if len(r.Logprobs) > 0 {
			p, err := decodePosition(r.Logprobs[i], l)
			if err != nil {
				return nil, fmt.Errorf("request %d: %w", id, err)
			}
			t.Logprobs = p
		}
		m.Tokens[i] = t
	}
	for _, p := range r.Prompts {
		cached, err := count(p.GetCachedTokens())
		if err != nil || cached > l.Context || len(p.GetLogprobs()) > l.Context {
			return nil, fmt.Errorf("request %d has %d cached tokens and %d log probabilities of its prompt", p.GetId(), p.GetCachedTokens(), len(p.GetLogprobs()))
		}
		result := messages.PromptResult{ID: messages.RequestID(p.GetId()), CachedTokens: cached}
		if result.Logprobs, err = decodePositions(result.ID, p.GetLogprobs(), l); err != nil {
			return nil, err
		}
		m.Prompts = append(m.Prompts, result)
	}
	for _, e := range r.Ended {
		reason := messages.EndReason(e.GetReason())
		if e.GetReason() < uint32(messages.EndEOS) || e.GetReason() > uint32(messages.EndInternal) || len(e.GetWhy()) > maxText {
			return nil, fmt.Errorf("request %d ended for reason %d", e.GetId(), e.GetReason())
		}
		m.Ended = append(m.Ended, messages.RequestEnded{ID: messages.RequestID(e.GetId()), Reason: reason, Token: e.GetToken(), Why: e.GetWhy()})
	}
	return m, nil
}

func EncodeCacheFlushed(m *messages.CacheFlushed) *Frame {
	return &Frame{Body: &Frame_CacheFlushed{&Flushed{Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket), Count: uint64(m.Pages)}}}
}

func EncodeFlushRefused(m *messages.FlushRefused) *Frame {
	return &Frame{Body: &Frame_FlushRefused{&Flushed{Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket), Count: uint64(m.Running)}}}
}

func EncodeSlotsAudited(m *messages.SlotsAudited) *Frame {
	return &Frame{Body: &Frame_SlotsAudited{encodeAudited(m)}}
}

// EncodeCacheDescribed translates a description to what people read of it.
func EncodeCacheDescribed(m *messages.CacheDescribed) (*Bulk, error) {
	text, err := json.Marshal(m.View)
	if err != nil {
		return nil, err
	}
	d := &Described{Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket), Json: text, Text: m.View.Text(false), TextWithAges: m.View.Text(true)}
	if n := d.bytes(); n > maxBytes {
		d.Text = fmt.Sprintf("The description has %d bytes; at most %d travel between nodes. Ask for fewer nodes or tokens.\n", n, maxBytes)
		d.TextWithAges = d.Text
		if d.Json, err = json.Marshal(map[string]string{"error": d.Text}); err != nil {
			return nil, err
		}
	}
	return &Bulk{Body: &Bulk_CacheDescribed{d}}, nil
}

func (x *Described) bytes() int {
	return len(x.GetJson()) + len(x.GetText()) + len(x.GetTextWithAges())
}

var eventKinds = []messages.CacheEventKind{"", messages.PagesStored, messages.PagesRemoved, messages.PagesCleared}

// EncodeCacheChanged translates events without the tokens of pages.
func EncodeCacheChanged(m *messages.CacheChanged) *Bulk {
	to := &CacheChanged{Epoch: uint32(m.Epoch), Seq: m.Seq}
	for i := range m.Events {
		e := &CacheEvent{Hashes: m.Events[i].Hashes}
		for kind, name := range eventKinds {
			if name == m.Events[i].Kind {
				e.Kind = uint32(kind)
			}
		}
		to.Events = append(to.Events, e)
	}
	return &Bulk{Body: &Bulk_CacheChanged{to}}
}

// view is a description of a cache that another node has made.
type view struct {
	json           []byte
	text, withAges string
}

func (v *view) MarshalJSON() ([]byte, error) { return v.json, nil }

func (v *view) Text(ages bool) string {
	if ages {
		return v.withAges
	}
	return v.text
}

// DecodeUp translates a frame of an engine, which is neither a Piece nor about the link.
func DecodeUp(f *Frame, slot messages.EngineID, l *Limits) (messages.ToDispatch, error) {
	switch b := f.Body.(type) {
	case *Frame_EpochStarted:
		return &messages.EpochStarted{Header: header(slot, b.EpochStarted.GetEpoch())}, nil
	case *Frame_EpochEnded:
		e := b.EpochEnded
		return &messages.EpochEnded{Header: header(slot, e.GetEpoch()), Cause: e.GetCause(), Suspects: ids[uint64, messages.RequestID](e.GetSuspects()),
			Requests: ids[uint64, messages.RequestID](e.GetRequests()), Seq: e.GetSeq()}, texts(e.GetCause())
	case *Frame_Results:
		if b.Results == nil {
			return nil, fmt.Errorf("results without content")
		}
		return decodeResults(b.Results, slot, l)
	case *Frame_CacheFlushed:
		n, err := count(b.CacheFlushed.GetCount())
		return &messages.CacheFlushed{Header: header(slot, b.CacheFlushed.GetEpoch()), Ticket: messages.Ticket(b.CacheFlushed.GetTicket()), Pages: n}, err
	case *Frame_FlushRefused:
		n, err := count(b.FlushRefused.GetCount())
		return &messages.FlushRefused{Header: header(slot, b.FlushRefused.GetEpoch()), Ticket: messages.Ticket(b.FlushRefused.GetTicket()), Running: n}, err
	case *Frame_SlotsAudited:
		return decodeAudited(b.SlotsAudited, slot)
	}
	return nil, fmt.Errorf("an engine sent a frame of type %T", f.Body)
}

// DecodeUpBulk translates a Bulk of an engine.
func DecodeUpBulk(b *Bulk, slot messages.EngineID) (messages.ToDispatch, error) {
	switch b := b.Body.(type) {
	case *Bulk_CacheDescribed:
		d := b.CacheDescribed
		if n := d.bytes(); n > maxBytes || !json.Valid(d.GetJson()) {
			return nil, fmt.Errorf("a description of %d bytes is too long or not JSON", n)
		}
		return &messages.CacheDescribed{Header: header(slot, d.GetEpoch()), Ticket: messages.Ticket(d.GetTicket()), View: &view{d.GetJson(), d.GetText(), d.GetTextWithAges()}}, nil
	case *Bulk_Snapshot:
		return decodeSnapshot(b.Snapshot, slot)
	case *Bulk_CacheChanged:
		m := &messages.CacheChanged{Header: header(slot, b.CacheChanged.GetEpoch()), Seq: b.CacheChanged.GetSeq()}
		for _, e := range b.CacheChanged.GetEvents() {
			if e.GetKind() < 1 || int(e.GetKind()) >= len(eventKinds) {
				return nil, fmt.Errorf("an event of the cache has kind %d", e.GetKind())
			}
			m.Events = append(m.Events, messages.CacheEvent{Kind: eventKinds[e.Kind], Hashes: e.Hashes})
		}
		return m, nil
	}
	return nil, fmt.Errorf("an engine sent a bulk of type %T", b.Body)
}
