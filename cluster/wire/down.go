package wire

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/messages"
)

// EncodeEnqueue translates requests. now is the time of the clock of their Arrived. Many
// requests take several messages.
func EncodeEnqueue(m *messages.EnqueueRequests, now time.Duration) (list []*Bulk) {
	var to *Enqueue
	size := 0
	for _, r := range m.Requests {
		one := &Request{
			Id: uint64(r.ID), Prompt: r.Prompt, Output: r.Output, Params: encodeParams(r.Params), Namespace: r.Namespace, Priority: r.Priority,
			Tenant: r.Tenant, Age: uint64(max(0, now-r.Arrived)), Alone: r.Alone, Fingerprint: r.Fingerprint,
		}
		n := proto.Size(one)
		if size += n; to == nil || size > enqueueBytes {
			to, size = &Enqueue{Epoch: uint32(m.Epoch)}, n
			list = append(list, &Bulk{Body: &Bulk_Enqueue{to}})
		}
		to.Requests = append(to.Requests, one)
	}
	return list
}

// decodeEnqueue is the opposite. The messages share the memory of b.
func decodeEnqueue(b *Enqueue, slot messages.EngineID, now time.Duration, l *Limits) (*messages.EnqueueRequests, error) {
	m := &messages.EnqueueRequests{Header: header(slot, b.Epoch)}
	known := make(map[uint64]bool, len(b.Requests))
	for _, r := range b.Requests {
		params, err := decodeParams(r.Params, l)
		switch {
		case err != nil:
			return nil, fmt.Errorf("request %d: %w", r.Id, err)
		case r.Id == 0 || known[r.Id]:
			return nil, fmt.Errorf("request %d is there twice, or has no id", r.Id)
		case len(r.Prompt) == 0 || len(r.Output) >= params.MaxTokens || params.MaxTokens > l.Context-len(r.Prompt):
			// As in one process: intake has cut max_tokens, and the batch former relies on it.
			return nil, fmt.Errorf("request %d has a prompt of %d tokens and an output of %d, of at most %d; prompt and output can have %d together", r.Id, len(r.Prompt), len(r.Output), params.MaxTokens, l.Context)
		}
		if err := l.allTokens(r.Prompt, r.Output); err != nil {
			return nil, fmt.Errorf("request %d: %w", r.Id, err)
		}
		if err := texts(r.Namespace, r.Tenant, r.Fingerprint); err != nil {
			return nil, fmt.Errorf("request %d: %w", r.Id, err)
		}
		known[r.Id] = true
		m.Requests = append(m.Requests, &messages.EngineRequest{
			ID: messages.RequestID(r.Id), Prompt: r.Prompt, Output: r.Output, Params: params, Namespace: r.Namespace, Priority: r.Priority,
			Tenant: r.Tenant, Arrived: now - time.Duration(min(r.Age, uint64(1<<62))), Alone: r.Alone, Fingerprint: r.Fingerprint,
		})
	}
	if len(m.Requests) == 0 {
		return nil, fmt.Errorf("a message without requests")
	}
	return m, nil
}

// EncodeFinish makes a Bulk, because the ends of requests go behind the requests.
func EncodeFinish(m *messages.FinishRequests) *Bulk {
	return &Bulk{Body: &Bulk_Finish{&Finish{Epoch: uint32(m.Epoch), Ids: ids[messages.RequestID, uint64](m.IDs)}}}
}

func EncodeFlush(m *messages.FlushCache) *Frame {
	return &Frame{Body: &Frame_FlushCache{&Ask{Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket)}}}
}

func EncodeAudit(m *messages.AuditSlots) *Frame {
	return &Frame{Body: &Frame_AuditSlots{&Ask{Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket), Snapshot: m.Snapshot != nil}}}
}

func EncodeDescribe(m *messages.DescribeCache) *Frame {
	return &Frame{Body: &Frame_DescribeCache{&Describe{
		Epoch: uint32(m.Epoch), Ticket: uint64(m.Ticket), Depth: int64(m.Limits.Depth), Nodes: int64(m.Limits.Nodes), Tokens: int64(m.Limits.Tokens),
	}}}
}

// DecodeDown translates a frame of a gateway, which is neither a Piece nor about the link.
func DecodeDown(f *Frame, slot messages.EngineID) (messages.ToPortal, error) {
	switch b := f.Body.(type) {
	case *Frame_FlushCache:
		return &messages.FlushCache{Header: header(slot, b.FlushCache.GetEpoch()), Ticket: messages.Ticket(b.FlushCache.GetTicket())}, nil
	case *Frame_AuditSlots:
		m := &messages.AuditSlots{Header: header(slot, b.AuditSlots.GetEpoch()), Ticket: messages.Ticket(b.AuditSlots.GetTicket())}
		if b.AuditSlots.GetSnapshot() {
			m.Snapshot = &messages.Snapshot{}
		}
		return m, nil
	case *Frame_DescribeCache:
		d := b.DescribeCache
		for _, n := range []int64{d.GetDepth(), d.GetNodes(), d.GetTokens()} {
			if n < 0 || n > 1<<30 {
				return nil, fmt.Errorf("a limit of a description is %d", n)
			}
		}
		limits := messages.CacheLimits{Depth: int(d.GetDepth()), Nodes: int(d.GetNodes()), Tokens: int(d.GetTokens())}
		return &messages.DescribeCache{Header: header(slot, d.GetEpoch()), Ticket: messages.Ticket(d.GetTicket()), Limits: limits}, nil
	}
	return nil, fmt.Errorf("a gateway sent a frame of type %T", f.Body)
}

// DecodeDownBulk translates a Bulk of a gateway.
func DecodeDownBulk(b *Bulk, slot messages.EngineID, now time.Duration, l *Limits) (messages.ToPortal, error) {
	switch b := b.Body.(type) {
	case *Bulk_Enqueue:
		if b.Enqueue != nil {
			return decodeEnqueue(b.Enqueue, slot, now, l)
		}
	case *Bulk_Finish:
		return &messages.FinishRequests{Header: header(slot, b.Finish.GetEpoch()), IDs: ids[uint64, messages.RequestID](b.Finish.GetIds())}, nil
	}
	return nil, fmt.Errorf("a gateway sent a bulk of type %T", b.Body)
}
