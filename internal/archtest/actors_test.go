package archtest

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// actorLists are the files whose package comment lists what an actor receives and
// sends, by role, as in
//
//	//	Receives: ReservePages, AuditSlots (cache): pages to free, then to reserve
//	//	Sends:    PagesReserved (former): the answer; WatchdogDue (itself)
//	//	State:    the free pages
//	//	On failure: stopped with its epoch
var actorLists = map[string]string{
	"intake":     "actors/intake/intake.go",
	"queue":      "sched/queue/doc.go",
	"former":     "sched/former/doc.go",
	"cache":      "memory/radix/doc.go",
	"allocator":  "memory/pages/doc.go",
	"runner":     "actors/runner/runner.go",
	"observer":   "actors/observer/observer.go",
	"dispatch":   "sched/dispatch/doc.go",
	"portal":     "sched/portal/doc.go",
	"link":       "cluster/link/doc.go",
	"supervisor": "actors/engine/engine.go",
}

// The comment of an actor's package lists the edges of the protocol table that
// begin or end at the actor. A list may name the role that the other end plays, and
// the others may leave out edges of roles that play theirs. FailEpoch has too many
// senders for the table, and an actor that shares the shell's has it in its list.
func TestActorsListTheirMessages(t *testing.T) {
	table := protocol(t)
	for role, file := range actorLists {
		var listed []edge
		receives, sends := listsOf(t, file)
		for _, m := range peersIn(receives, role) {
			listed = append(listed, edge{m.message, m.from, role})
		}
		for _, m := range peersIn(sends, role) {
			listed = append(listed, edge{m.message, role, m.from})
		}
		inTable := func(message string) bool {
			return slices.ContainsFunc(table, func(r row) bool { return r.message == message })
		}
		for _, e := range listed {
			if !slices.Contains(anyone, e.message) && inTable(e.message) && !slices.ContainsFunc(table, func(r row) bool { return r.edge == e }) {
				t.Errorf("%s lists %s, and messages/doc.go has no row for it", file, e)
			}
		}
		for _, r := range table {
			beside := plays[role] == nil && (plays[r.from] != nil || plays[r.to] != nil)
			isListed := slices.ContainsFunc(listed, func(e edge) bool {
				return e.message == r.message && acts(r.from, e.from) && acts(r.to, e.to)
			})
			if (r.from == role || r.to == role) && !beside && !slices.Contains(anyone, r.message) && !isListed {
				t.Errorf("%s does not list %s, which is in messages/doc.go", file, r.edge)
			}
		}
		if role != "observer" && !slices.ContainsFunc(listed, func(e edge) bool { return e.message == "FailEpoch" }) {
			t.Errorf("%s does not say when it sends or gets FailEpoch", file)
		}
	}
}

// listsOf gives the texts after "Receives:" and "Sends:" in a package comment.
func listsOf(t *testing.T, file string) (receives, sends string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	_, text, begins := strings.Cut(parsed.Doc.Text(), "\tReceives:")
	receives, text, goesOn := strings.Cut(text, "\tSends:")
	sends, text, ends := strings.Cut(text, "\tState:")
	if !begins || !goesOn || !ends || !strings.Contains(text, "\tOn failure:") {
		t.Fatalf("%s does not list Receives, Sends, State and On failure, in this order", file)
	}
	return receives, sends
}

// peers are messages with the roles that send or get them: "A, B (cache, dispatch)".
var peers = regexp.MustCompile(`([A-Z]\w+(?:,\s+[A-Z]\w+)*) \(([a-z]+(?:, [a-z]+)*)\)`)

// peersIn gives an edge for each message and role in a text, all with the role in from.
func peersIn(text, self string) (found []edge) {
	for _, m := range peers.FindAllStringSubmatch(text, -1) {
		for message := range strings.SplitSeq(m[1], ",") {
			for role := range strings.SplitSeq(m[2], ", ") {
				if role == "itself" {
					role = self
				}
				found = append(found, edge{message: strings.TrimSpace(message), from: role})
			}
		}
	}
	return found
}
