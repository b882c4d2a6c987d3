package messages

import (
	"slices"
	"testing"
)

// Each request of a message once, in order; and asking changes nothing.
func TestRequests(t *testing.T) {
	inserts := []PrefixInsert{{ID: 9}, {ID: 3}}
	reserves := []PageReserve{{ID: 3}, {ID: 1}}
	inserted := []PrefixInserted{{ID: 9}, {ID: 3}}
	requests := []*EngineRequest{{ID: 4}, {ID: 2}}
	ids := []RequestID{7, 5, 7}
	for _, c := range []struct {
		msg  any
		want []RequestID
	}{
		{&EnqueueRequests{Requests: requests}, []RequestID{2, 4}},
		{&CandidatesOffered{Requests: requests}, []RequestID{2, 4}},
		{&FinishRequests{IDs: ids}, []RequestID{5, 7}},
		{&ClaimCandidates{IDs: ids}, []RequestID{5, 7}},
		{&PeekPrefixes{Prefixes: []PrefixPeek{{ID: 8}, {ID: 6}}}, []RequestID{6, 8}},
		{&PrefixesPeeked{Peeked: []PrefixPeeked{{ID: 8}, {ID: 6}}}, []RequestID{6, 8}},
		{&LockPrefixes{Prefixes: []PrefixLock{{ID: 5}, {ID: 4}}}, []RequestID{4, 5}},
		{&PrefixesLocked{Matches: []PrefixLocked{{ID: 5}, {ID: 4}}}, []RequestID{4, 5}},
		{&CommitPlan{Inserts: inserts, Reserves: reserves}, []RequestID{1, 3, 9}},
		{&ReservePages{Inserted: inserted, Reserves: reserves}, []RequestID{1, 3, 9}},
		{&PagesReserved{Inserted: inserted, Granted: []PagesGranted{{ID: 1}}}, []RequestID{1, 3, 9}},
		{&StepResults{Admitted: []RequestID{5}, Prompts: []PromptResult{{ID: 4}}, Tokens: []TokenResult{{ID: 2}, {ID: 1}}, Ended: []RequestEnded{{ID: 3}}},
			[]RequestID{1, 2, 3, 4, 5}},
		{&RunBatch{Closed: []Row{1}, Opened: []RowOpened{{Row: 1}}}, nil},
		{&AuditSlots{}, nil},
		{nil, nil},
	} {
		if got := Requests(c.msg); !slices.Equal(got, c.want) {
			t.Errorf("%T is about %v, want %v", c.msg, got, c.want)
		}
	}
	if ids[0] != 7 || inserts[0].ID != 9 || requests[0].ID != 4 {
		t.Error("asking has changed a message")
	}
}
