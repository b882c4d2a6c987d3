package messages

import "slices"

// named is a message about requests. The list may have duplicates.
type named interface{ requests() []RequestID }

// Requests are the requests that a message is about, each once. They are the
// suspects if handling the message fails. Messages about a step name no requests;
// its sender and its receiver know them.
func Requests(msg any) []RequestID {
	m, ok := msg.(named)
	if !ok {
		return nil
	}
	ids := m.requests()
	slices.Sort(ids)
	return slices.Compact(ids)
}

// idsOf collects the ids of a list.
func idsOf[T any](list []T, id func(*T) RequestID) []RequestID {
	ids := make([]RequestID, len(list))
	for i := range list {
		ids[i] = id(&list[i])
	}
	return ids
}

func requestID(r **EngineRequest) RequestID { return (*r).ID }

func (m *EnqueueRequests) requests() []RequestID   { return idsOf(m.Requests, requestID) }
func (m *CandidatesOffered) requests() []RequestID { return idsOf(m.Requests, requestID) }
func (m *FinishRequests) requests() []RequestID    { return slices.Clone(m.IDs) }
func (m *ClaimCandidates) requests() []RequestID   { return slices.Clone(m.IDs) }

func (m *PeekPrefixes) requests() []RequestID {
	return idsOf(m.Prefixes, func(p *PrefixPeek) RequestID { return p.ID })
}

func (m *PrefixesPeeked) requests() []RequestID {
	return idsOf(m.Peeked, func(p *PrefixPeeked) RequestID { return p.ID })
}

func (m *LockPrefixes) requests() []RequestID {
	return idsOf(m.Prefixes, func(p *PrefixLock) RequestID { return p.ID })
}

func (m *PrefixesLocked) requests() []RequestID {
	return idsOf(m.Matches, func(p *PrefixLocked) RequestID { return p.ID })
}

func (m *CommitPlan) requests() []RequestID {
	return append(idsOf(m.Inserts, func(p *PrefixInsert) RequestID { return p.ID }), reserving(m.Reserves)...)
}

func (m *ReservePages) requests() []RequestID {
	return append(reserving(m.Reserves), inserted(m.Inserted)...)
}

func (m *PagesReserved) requests() []RequestID {
	return append(idsOf(m.Granted, func(p *PagesGranted) RequestID { return p.ID }), inserted(m.Inserted)...)
}

func (m *StepResults) requests() []RequestID {
	return idsOf(m.Tokens, func(t *TokenResult) RequestID { return t.ID })
}

func reserving(list []PageReserve) []RequestID {
	return idsOf(list, func(p *PageReserve) RequestID { return p.ID })
}

func inserted(list []PrefixInserted) []RequestID {
	return idsOf(list, func(p *PrefixInserted) RequestID { return p.ID })
}
