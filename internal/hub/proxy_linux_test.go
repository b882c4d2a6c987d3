package hub_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// A proxy opens tunnels to the hub and its delivery network, and notes the names of the
// hosts that it was asked for.
type proxy struct {
	to map[string]string // name:port to address

	mu    sync.Mutex
	asked []string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Host)
	p.mu.Unlock()
	out, err := net.Dial("tcp", p.to[r.Host])
	if r.Method != http.MethodConnect || err != nil {
		http.Error(w, "not a tunnel to the hub", http.StatusBadGateway)
		return
	}
	in, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		out.Close()
		return
	}
	fmt.Fprint(in, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(out, in)
		out.Close()
	}()
	_, _ = io.Copy(in, out)
	in.Close()
}

// HTTPS_PROXY and SSL_CERT_FILE are honoured. Go reads both once, hence the process.
func TestHTTPSThroughAProxy(t *testing.T) {
	h := hubtest.StartTLS(t, &hubtest.Repo{Name: "org/big", Files: map[string][]byte{"a.gguf": data("big", 3<<20)}})
	address := func(of string) string {
		u, err := url.Parse(of)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	p := &proxy{to: map[string]string{"example.com:443": address(h.URL), "cdn.example.com:443": address(h.CDN)}}
	h.CDN = "https://cdn.example.com"
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	certificate := filepath.Join(t.TempDir(), "certificate.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	child := pullInAChild(t, "https://example.com", t.TempDir(), "HTTPS_PROXY="+s.URL, "https_proxy=", "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE="+certificate)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.asked)
	if got := slices.Compact(p.asked); !slices.Equal(got, []string{"cdn.example.com:443", "example.com:443"}) {
		t.Errorf("the proxy was asked for %q", got)
	}
}
