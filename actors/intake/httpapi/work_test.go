package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// panicky is a parameter that panics when it is read.
type panicky struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*panicky) UnmarshalJSON([]byte) error { panic("on purpose") }

// A body that makes the server panic returns what it held.
func TestAPanicGivesBackWhatABodyHeld(t *testing.T) {
	s := New(Deps{Log: zerolog.Nop()})
	for _, size := range []int{10, smallBody + 1} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"a": "`+strings.Repeat("x", size)+`"}`))
		r.Header.Set("Content-Type", "application/json")
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			type body struct {
				A panicky `json:"a"`
			}
			post(s, func(http.ResponseWriter, *http.Request, *work, *body) *apiError { return nil })(httptest.NewRecorder(), r)
		}()
		if s.bodies.used != 0 || len(s.bodies.clients) != 0 || len(s.places) != 0 || len(s.largePlace) != 0 {
			t.Errorf("%d bytes: %d bytes, %v, %d and %d places are held", size, s.bodies.used, s.bodies.clients, len(s.places), len(s.largePlace))
		}
	}
}

// pipes is a listener with unbuffered connections.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, errors.New("closed")
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.conns) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// A client that reads an answer slowly can reuse its connection: there is no wait
// for the rest of a body without one.
func TestASlowReaderKeepsItsConnection(t *testing.T) {
	synctest.Test(t, slowReader)
}

func slowReader(t *testing.T) {
	s := New(Deps{Log: zerolog.Nop()})
	listener := &pipes{conns: make(chan net.Conn, 1)}
	served := make(chan struct{})
	var late error
	s.http.Handler = s.withRequestID(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/second" {
			late = r.Context().Err()
			close(served)
		}
	}))
	go s.Serve(listener)
	defer s.http.Close()
	client, server := net.Pipe()
	defer client.Close()
	listener.conns <- server
	answers := bufio.NewReader(client)
	ask := func(path string) { io.WriteString(client, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n") }
	ask("/first")
	time.Sleep(restOfBody + 200*time.Millisecond) // longer than a rest is waited for
	if _, err := http.ReadResponse(answers, nil); err != nil {
		t.Fatal(err)
	}
	ask("/second")
	if <-served; late != nil {
		t.Errorf("the second request: %v", late)
	}
	if _, err := http.ReadResponse(answers, nil); err != nil {
		t.Fatal(err)
	}
}
