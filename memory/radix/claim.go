package radix

import "github.com/troupe-engine/troupe/messages"

// claim gives every cached page its owner in a snapshot.
func (t *Tree) claim(s *messages.Snapshot) {
	for chunk, live := range t.nodes.live {
		if live == 0 {
			continue
		}
		from := nodeIndex(chunk << chunkBits)
		for i := max(from, 1); i < min(from+chunkSize, t.nodes.top); i++ {
			n := t.nodes.at(i)
			if n.gen&1 == 0 {
				continue
			}
			owner := messages.PageEvictable
			if n.locks > 0 {
				owner = messages.PageProtected
			}
			for code := n.pages.code; len(code) > 0; {
				var run messages.PageRun
				run, code = firstRun(code)
				s.Claim(run, owner)
			}
		}
	}
}
