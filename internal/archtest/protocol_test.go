package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// players are the packages whose code speaks for a role.
var players = map[string]string{
	"request":               "intake",
	"actors/intake":         "intake",
	"sched/queue":           "queue",
	"sched/former":          "former",
	"sched/dispatch":        "dispatch",
	"sched/portal":          "portal",
	"cluster/link":          "link",
	"cluster/wire":          "link", // it makes the messages that frames carry
	"memory/radix":          "cache",
	"memory/pages":          "allocator",
	"actors/runner":         "runner",
	"actors/engine":         "supervisor",
	"actors/observer":       "observer",
	"actors/intake/httpapi": "client",
}

// anyone are messages that several roles send by code that they share: the shell
// reports a panic for all of them.
var anyone = []string{"FailEpoch"}

// plays are the roles that an actor plays for others, so that they need not know of it.
var plays = map[string][]string{
	"dispatch": {"queue", "former", "cache", "supervisor", "intake", "observer", "portal"},
	"portal":   {"intake", "observer"},
	"link":     {"queue", "former", "cache", "supervisor", "intake", "observer"},
}

// acts reports whether a role is another one or plays it.
func acts(role, as string) bool { return role == as || slices.Contains(plays[role], as) }

// edge is one message on its way.
type edge struct{ message, from, to string }

func (e edge) String() string { return e.message + " from " + e.from + " to " + e.to }

// row is one line of the table in messages/doc.go.
type row struct {
	edge
	reply string
}

// The protocol table has every message with its sender and its receiver, as the
// code sends them, and no other. What is sent to an actor that plays a role is sent to
// the role in the code. A node is a process: its code is not a core's, and not read here.
func TestProtocolTableHasTheSenders(t *testing.T) {
	var sent []edge
	for path, role := range players {
		for _, e := range sentBy(typesOf(t, path), role) {
			if !slices.Contains(anyone, e.message) && !slices.Contains(sent, e) {
				sent = append(sent, e)
			}
		}
	}
	table := protocol(t)
	for _, e := range sent {
		if !slices.ContainsFunc(table, func(r row) bool { return r.message == e.message && r.from == e.from && acts(r.to, e.to) }) {
			t.Errorf("%s: it is sent, and messages/doc.go has no row for it", e)
		}
	}
	for _, r := range table {
		isSent := slices.ContainsFunc(sent, func(e edge) bool { return e.message == r.message && e.from == r.from && acts(r.to, e.to) })
		if !slices.Contains(anyone, r.message) && !isSent && r.from != "node" {
			t.Errorf("%s: messages/doc.go has a row for it, and no code sends it", r.edge)
		}
	}
	if len(sent) < 40 {
		t.Errorf("only %d sends found; the scan is broken", len(sent))
	}
}

// named reports whether a reply names a role: "… by dispatch, former".
func named(reply, role string) bool {
	_, roles, _ := strings.Cut(reply, " by ")
	return slices.Contains(strings.FieldsFunc(roles, func(r rune) bool { return r == ',' || r == ' ' }), role)
}

var messageName = regexp.MustCompile(`\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b`)

// A reply of the table is a message that the receiver, or who is named, sends.
func TestProtocolTableHasTheReplies(t *testing.T) {
	table, vocabulary := protocol(t), typesOf(t, "messages").pkg.Scope()
	replies := 0
	for _, r := range table {
		for _, name := range messageName.FindAllString(r.reply, -1) {
			replies++
			isRow := func(reply row) bool { return reply.message == name }
			switch {
			case vocabulary.Lookup(name) == nil:
				t.Errorf("%s: the reply %s is not in the vocabulary", r.edge, name)
			case !slices.ContainsFunc(table, isRow) || slices.Contains(anyone, name): // a part of one, or an answer on a channel
			case !slices.ContainsFunc(table, func(reply row) bool {
				return isRow(reply) && (reply.from == r.to || named(r.reply, reply.from))
			}):
				t.Errorf("%s: the reply %s is not sent by %s", r.edge, name, r.to)
			}
		}
	}
	if replies < 20 {
		t.Errorf("only %d replies found; the scan is broken", replies)
	}
}

// sentBy finds what a package sends: every message that is passed or returned where the
// set of a receiver's messages is asked for, and every timer. The methods of an Engine
// send for the process that has it.
func sentBy(c *checked, role string) (sent []edge) {
	player := role
	for name, file := range c.files {
		if role = player; c.path == "actors/engine" && (name == "engine" || name == "operate") {
			role = "owner"
		}
		for _, d := range file.Decls {
			sent = append(sent, returnedBy(c, d, role)...)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			signature, ok := c.info.Types[call.Fun].Type.(*types.Signature)
			if !ok || signature.Params().Len() == 0 {
				return true
			}
			for i, arg := range call.Args {
				message := messageOf(c.info.Types[arg].Type)
				if message == nil {
					continue
				}
				set := signature.Params().At(min(i, signature.Params().Len()-1)).Type()
				to := receiverOf(set)
				switch name := calledName(call); {
				case to != "":
				case name == "After":
					to = role
				case name == "Send": // of the actor runtime
					to = onlyReceiver(message)
				}
				if to != "" {
					sent = append(sent, edge{message.Obj().Name(), role, to})
				}
			}
			return true
		})
	}
	return sent
}

// returnedBy finds the messages that a function returns as one of a receiver's.
func returnedBy(c *checked, d ast.Decl, role string) (sent []edge) {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Type.Results == nil {
		return nil
	}
	results := c.info.Defs[f.Name].(*types.Func).Signature().Results()
	ast.Inspect(f, func(n ast.Node) bool {
		back, ok := n.(*ast.ReturnStmt)
		if !ok || len(back.Results) == 0 {
			return true
		}
		of := func(i int) types.Type { return c.info.Types[back.Results[i]].Type }
		if all, several := of(0).(*types.Tuple); several { // of a call
			of = func(i int) types.Type { return all.At(i).Type() }
		}
		for i := range results.Len() {
			if to := receiverOf(results.At(i).Type()); to != "" && messageOf(of(i)) != nil {
				sent = append(sent, edge{messageOf(of(i)).Obj().Name(), role, to})
			}
		}
		return true
	})
	return sent
}

func calledName(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

// messageOf gives the message that a pointer type points to; nil for any other
// type.
func messageOf(t types.Type) *types.Named {
	p, ok := t.(*types.Pointer)
	if !ok {
		return nil
	}
	named, ok := p.Elem().(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != module+"messages" || onlyReceiver(named) == "" {
		return nil
	}
	return named
}

// receiverOf gives the role whose set of messages a type is, "" if it is none.
func receiverOf(t types.Type) string {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != module+"messages" {
		return ""
	}
	set, ok := named.Underlying().(*types.Interface)
	if !ok || set.NumMethods() != 1 {
		return ""
	}
	to, ok := strings.CutPrefix(set.Method(0).Name(), "to")
	if !ok {
		return ""
	}
	return strings.ToLower(to)
}

// onlyReceiver gives the role that takes a message, the first of several.
func onlyReceiver(message *types.Named) string {
	for m := range message.Methods() {
		if to, ok := strings.CutPrefix(m.Name(), "to"); ok {
			return strings.ToLower(to)
		}
	}
	return ""
}

// protocol reads the table of messages/doc.go.
func protocol(t *testing.T) (table []row) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "messages/doc.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(file.Doc.Text()) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.Contains(cells[2], "→") || strings.TrimSpace(cells[1]) == "message" {
			continue
		}
		way := strings.Split(cells[2], "→")
		for i := range way[1:] {
			table = append(table, row{edge{strings.TrimSpace(cells[1]), strings.TrimSpace(way[i]), strings.TrimSpace(way[i+1])}, cells[3]})
		}
	}
	if len(table) < 40 {
		t.Fatalf("only %d rows found in messages/doc.go", len(table))
	}
	return table
}

// The flow chart of docs/architecture.md has the edges of the table. With
// -rewrite it is written anew.
func TestFlowChartFollowsTheTable(t *testing.T) {
	compareSection(t, "docs/architecture.md", "    %% from messages/doc.go\n", "    %% end\n", arrows(protocol(t)))
}

// arrows draws one arrow for each pair of roles, with its messages in the order
// of the table. What a role sends itself is left out, and so are actors that play
// other roles.
func arrows(table []row) string {
	var order [][2]string
	named := map[[2]string][]string{}
	for _, r := range table {
		pair := [2]string{r.from, r.to}
		if r.from == r.to || plays[r.from] != nil || plays[r.to] != nil || slices.Contains(named[pair], r.message) {
			continue
		}
		if named[pair] == nil {
			order = append(order, pair)
		}
		named[pair] = append(named[pair], r.message)
	}
	var b strings.Builder
	for _, pair := range order {
		label := ""
		for i, name := range named[pair] {
			switch {
			case i > 0 && i%2 == 0:
				label += ",<br/>"
			case i > 0:
				label += ", "
			}
			label += name
		}
		from, line := pair[0], "--"
		if from == "any" {
			from, line = "epoch", "-."
		}
		end := map[string]string{"--": "-->", "-.": ".->"}[line]
		fmt.Fprintf(&b, "    %s %s \"%s\" %s %s\n", from, line, label, end, pair[1])
	}
	return b.String()
}
