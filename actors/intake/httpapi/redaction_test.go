package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

func TestSay(t *testing.T) {
	for name, c := range map[string]struct {
		err             *apiError
		message, logged string
	}{
		"a value":           {invalid("top_p", "%s is %v; it must be between %v and %v", "top_p", 3.5, own(0), own(1.0)), "top_p is 3.5; it must be between 0 and 1", "top_p is …; it must be between 0 and 1"},
		"numbers":           {invalid("n", "n is %d of %5.1f", 7, 2.5), "n is 7 of   2.5", "n is … of …"},
		"own verbs":         {invalid("", "%q %5d %x", own("é"), own(42), own([]byte{1, 2})), `"é"    42 0102`, `"é"    42 0102`},
		"a bug":             {internal("panic in %s", own("x")), "bug in the server; please report it: panic in x", "bug in the server; please report it: panic in x"},
		"quoted":            {invalid("", "the key %q", "secret"), `the key "secret"`, "the key …"},
		"an error":          {invalid("", "cannot be read: %v", errors.New("secret")), "cannot be read: secret", "cannot be read: …"},
		"a known name":      {invalid("", "%s is missing", "messages[3].content"), "messages[3].content is missing", "messages[…].content is missing"},
		"an unknown name":   {invalid("", "%s is missing", "messages[3].secret"), "messages[3].secret is missing", "… is missing"},
		"a name with words": {invalid("", "%s is missing", "messages[secret]"), "messages[secret] is missing", "… is missing"},
		"digits for index":  {invalid("", "%s", "prompt[918273645]"), "prompt[918273645]", "prompt[…]"},
		"no argument":       {invalid("", "it is 100%% wrong"), "it is 100% wrong", "it is 100% wrong"},
		"unsupported":       {unsupported("regex", "leave it out"), "regex is not supported; leave it out", "regex is not supported; leave it out"},
	} {
		if c.err.Message != c.message || c.err.logged != c.logged {
			t.Errorf("%s: %q and %q, want %q and %q", name, c.err.Message, c.err.logged, c.message, c.logged)
		}
	}
}

func TestReason(t *testing.T) {
	secret := errors.New("malformed MIME header: my secret")
	for _, c := range []struct {
		err  error
		want string
	}{
		{context.Canceled, "context canceled"}, {fmt.Errorf("my secret: %w", io.ErrUnexpectedEOF), "unexpected EOF"},
		{&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}, "write tcp: write: broken pipe"},
		{syscall.ECONNRESET, "connection reset by peer"}, {secret, "…"},
	} {
		if e := invalid("", "%v", reason(c.err)); e.logged != c.want {
			t.Errorf("%v is logged as %q, want %q", c.err, e.logged, c.want)
		}
	}
}

// The log shows nothing of an error that was made without say.
func TestAnErrorWithoutSayIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := &Server{Deps: Deps{Log: zerolog.New(&log)}}
	err := &apiError{Status: http.StatusBadRequest, Message: "my secret", Param: "my secret", Code: "a_code"}
	r := httptest.NewRequest("GET", "/secret?secret=1", nil)
	r.Method = "SECRET"
	s.logAccess(r, &trail{id: "x", err: err}, &recorder{status: 400}, time.Millisecond)
	if line := log.String(); strings.Contains(strings.ToLower(line), "secret") || !strings.Contains(line, `"method":"unknown","path":"unknown"`) || !strings.Contains(line, `"code":"a_code"`) {
		t.Error(line)
	}
}

func TestRefusalsOfIntakeInTheLog(t *testing.T) {
	e := refused(&messages.CallRefused{Kind: messages.RefusedDuplicate, Message: `Duplicate request ID "my %s secret"`, Param: "rid", Code: "duplicate_request_id"})
	if e.Message != `Duplicate request ID "my %s secret"` || strings.Contains(e.logged, "secret") {
		t.Errorf("%q and %q", e.Message, e.logged)
	}
	e = refused(&messages.CallRefused{Kind: messages.RefusedBusy, Message: "7 requests are open", Loggable: true})
	if e.Message != "7 requests are open" || e.logged != e.Message {
		t.Errorf("%q and %q", e.Message, e.logged)
	}
}

// The log is made from formats, so a format must not have a client's text.
func TestFormatsAreConstant(t *testing.T) {
	// The index of the format among the arguments.
	formats := map[string]int{"say": 0, "invalid": 1, "internal": 0, "forbidden": 0, "unauthorized": 1}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			_, wrapper := formats[f.Name.Name]
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := ""
				switch fun := call.Fun.(type) {
				case *ast.Ident:
					name = fun.Name
				case *ast.SelectorExpr:
					name = fun.Sel.Name
				}
				at, ok := formats[name]
				if !ok || wrapper {
					return true
				}
				calls++
				if lit, ok := call.Args[at].(*ast.BasicLit); !ok || lit.Kind != token.STRING {
					t.Errorf("%s: the format of %s in %s is not a string literal; pass what varies as an argument", f.Name.Name, name, f.Name.Name)
				}
				return true
			})
		}
	}
	if calls < 80 {
		t.Errorf("only %d calls were found", calls)
	}
}

// fullListener is a listener of a process without free file descriptors.
type fullListener struct {
	net.Listener
	fails int
}

func (l *fullListener) Accept() (net.Conn, error) {
	if l.fails--; l.fails < 0 {
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("accept4", syscall.EMFILE)}
}

// The log warns when connections cannot be accepted, but not each time.
func TestFailedAcceptsAreLogged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var log bytes.Buffer
	s := New(Deps{Log: zerolog.New(&log).Level(zerolog.WarnLevel)})
	defer s.Drain()
	const fails = 4
	if err := s.Serve(&fullListener{l, fails}); !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
	lines := strings.Count(log.String(), "\n")
	for _, want := range []string{`"level":"warn"`, "too many open files", "(ulimit -n)"} {
		if lines == 0 || lines == fails || !strings.Contains(log.String(), want) {
			t.Fatalf("%d lines for %d errors, want %s and fewer lines:\n%s", lines, fails, want, log.String())
		}
	}
}
