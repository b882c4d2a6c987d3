package wire

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/messages"
)

// fragmented is the snapshot of a pool of 2^20 pages in 64 requests, of which neighbours
// belong to different requests or owners.
func fragmented() *messages.SlotsAudited {
	const pages, requests = 1 << 20, 64
	s := &messages.Snapshot{Pages: make(messages.PageMap, pages), Tree: drawing{5}}
	rnd := rand.New(rand.NewPCG(1, 2))
	perm := make([]messages.Page, 0, pages/2)
	for _, p := range rnd.Perm(pages) {
		if len(perm) < cap(perm) {
			perm = append(perm, messages.Page(p+1))
		} else {
			s.Claim(messages.PageRun{First: messages.Page(p + 1), N: 1}, messages.PageFree)
		}
	}
	s.ClaimPages(perm, messages.PageLeased)
	for i := range requests {
		own := perm[i*len(perm)/requests:][:len(perm)/requests]
		r := messages.SnapshotRequest{ID: messages.RequestID(i + 1), State: messages.StateDecode, Pages: len(own)}
		r.Private, r.Hidden = messages.RunsOf(own, messages.MostRequestRuns)
		s.Requests = append(s.Requests, r)
	}
	c := messages.PageCount{Free: pages / 2, Leased: pages / 2, Total: pages}
	s.Close(c)
	return &messages.SlotsAudited{OK: true, Count: c, Snapshots: []*messages.Snapshot{s}}
}

// BenchmarkFragmentedSnapshot is what a snapshot costs the two ends of a link.
func BenchmarkFragmentedSnapshot(b *testing.B) {
	m := fragmented()
	bulk, err := EncodeSnapshot(m)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_, _ = EncodeSnapshot(m)
		}
		b.ReportMetric(float64(proto.Size(bulk)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := DecodeUpBulk(bulk, slot); err != nil {
				b.Fatal(err)
			}
		}
	})
}
