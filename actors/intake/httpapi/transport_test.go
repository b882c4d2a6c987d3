package httpapi_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func TestKeys(t *testing.T) {
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{APIKeys: []string{"alpha", "beta"}}})
	for header, status := range map[string]int{"Bearer alpha": 200, "Bearer beta": 200, "bearer alpha": 200,
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer gamma": 401, "alpha": 401, "Basic alpha": 401, "Bearer alph": 401, "Bearer alphaa": 401} {
		a := send(t, s, "GET", "/v1/models", nil, "Authorization", header)
		if a.status != status {
			t.Errorf("%q returns %d, want %d", header, a.status, status)
		}
		if status != 401 {
			continue
		}
		if e := errorOf(t, a); e["code"] != "invalid_api_key" || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%v with headers %v", e, a.header)
		}
	}
	for path, status := range map[string]int{"/livez": 200, "/readyz": 200, "/health": 200, "/health_generate": 200,
		"/server_info": 401, "/metrics": 401, "/debug/audit": 401, "/debug/cache": 401, "/v1/kv_events": 401} {
		if a := send(t, s, "GET", path, nil); a.status != status {
			t.Errorf("%s without a key returns %d, want %d", path, a.status, status)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/generate", "/tokenize", "/detokenize", "/flush_cache", "/abort_request"} {
		if a := send(t, s, "POST", path, "{}"); a.status != 401 {
			t.Errorf("%s without a key returns %d", path, a.status)
		}
	}
	if strings.Contains(s.Logs(), "gamma") {
		t.Error("a key is in the log")
	}
}

func TestCORS(t *testing.T) {
	const page = "https://chat.example"
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{CORSOrigins: []string{page}, APIKeys: []string{"k"}}})
	a := send(t, s, "OPTIONS", "/v1/chat/completions", nil, "Origin", page, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, content-type")
	for name, value := range map[string]string{"Access-Control-Allow-Origin": page, "Access-Control-Allow-Methods": "GET, POST", "Access-Control-Allow-Headers": "authorization, content-type", "Vary": "Origin"} {
		if got := a.header.Get(name); got != value {
			t.Errorf("preflight: %s is %q, want %q", name, got, value)
		}
	}
	if a.status != http.StatusNoContent {
		t.Errorf("preflight returns %d", a.status)
	}
	if a = send(t, s, "GET", "/v1/models", nil, "Origin", page); a.status != 401 || a.header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("a page must see why it is refused: %d %v", a.status, a.header)
	}
	if a = send(t, s, "GET", "/v1/models", nil, "Origin", "https://evil.example", "Authorization", "Bearer k"); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("another origin is allowed")
	}
	open := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{CORSOrigins: []string{"*"}}})
	if a = send(t, open, "GET", "/v1/models", nil, "Origin", "https://any.example"); a.header.Get("Access-Control-Allow-Origin") == "" {
		t.Error("any origin was to be allowed")
	}
	off := testserver.Start(t, testserver.Options{})
	if a = send(t, off, "GET", "/v1/models", nil, "Origin", page); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS is off and allows an origin")
	}
}

// A request has the client's id if that can be in a header and in a log line. It is
// in both.
func TestRequestIDs(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	for given, kept := range map[string]bool{"mine-1": true, "": false, strings.Repeat("x", 129): false, "a b": false, "é": false} {
		a := send(t, s, "POST", "/v1/completions", object{"prompt": "a", "max_tokens": 1}, "X-Request-ID", given)
		id := a.header.Get("X-Request-ID")
		if id == "" || (id == given) != kept {
			t.Errorf("sent the id %q, got %q", given, id)
		}
		found := false
		for line := range strings.Lines(s.Logs()) {
			var entry object
			if json.Unmarshal([]byte(line), &entry) != nil {
				t.Fatalf("a log line that is no JSON: %s", line)
			}
			if entry["request_id"] == id && entry["path"] == "/v1/completions" && entry["status"] == 200.0 && entry["method"] == "POST" {
				found = true
			}
		}
		if !found {
			t.Errorf("no line of the access log has the id %q", id)
		}
	}
}

func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{TLSCert: cert, TLSKey: key}})
	for _, h2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: h2}
		client := &http.Client{Transport: transport}
		resp, err := client.Post(s.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "Once", "stream": true, "max_tokens": 5}`))
		if err != nil {
			t.Fatal(err)
		}
		data := readEvents(t, resp.Body)
		resp.Body.Close()
		if want := map[bool]int{false: 1, true: 2}[h2]; resp.ProtoMajor != want || data[len(data)-1] != "[DONE]" {
			t.Errorf("HTTP/%d, want %d; events %q", resp.ProtoMajor, want, data)
		}
		transport.CloseIdleConnections()
	}
}

// Over HTTP/2 a write deadline that passes during silence would end the stream.
func TestASilentStreamOutlivesTheWriteStall(t *testing.T) {
	cert, key, pool := certificate(t)
	// A write of a busy machine takes less than the stall, and the silence
	// between the two tokens more.
	s := testserver.Start(t, testserver.Options{HTTP: httpapi.Options{TLSCert: cert, TLSKey: key, WriteStall: 600 * time.Millisecond},
		StepTime: 900 * time.Millisecond})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(s.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "Once", "stream": true, "max_tokens": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data := readEvents(t, resp.Body); data[len(data)-1] != "[DONE]" {
		t.Errorf("the stream ended early: %q", data)
	}
}

func TestListenErrors(t *testing.T) {
	cert, key, _ := certificate(t)
	_, otherKey, _ := certificate(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, c := range map[string]struct {
		opt   httpapi.Options
		words string
	}{
		"port in use":     {httpapi.Options{Host: "127.0.0.1", Port: busy.Addr().(*net.TCPAddr).Port}, "in use"},
		"no such host":    {httpapi.Options{Host: "256.0.0.1"}, "check host and port"},
		"one TLS file":    {httpapi.Options{TLSCert: cert}, "set both"},
		"missing file":    {httpapi.Options{TLSCert: cert, TLSKey: "/nowhere/key.pem"}, "/nowhere/key.pem"},
		"another key":     {httpapi.Options{TLSCert: cert, TLSKey: otherKey}, "must belong to the certificate"},
		"empty key":       {httpapi.Options{APIKeys: []string{"k", ""}}, "give a key"},
		"key as the cert": {httpapi.Options{TLSCert: key, TLSKey: key}, "PEM"},
	} {
		l, err := httpapi.Listen(c.opt)
		if err == nil {
			l.Close()
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %q lacks %q", name, err, c.words)
		}
	}
}

// A client that sends its headers or body too slowly is not waited for.
func TestSlowSenders(t *testing.T) {
	for name, c := range map[string]struct {
		opt          httpapi.Options // one limit each: a server that is late itself must not meet the other
		sent, answer string
	}{
		"headers": {httpapi.Options{HeaderTimeout: 50 * time.Millisecond}, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n", ""},
		"body": {httpapi.Options{BodyTimeout: 50 * time.Millisecond},
			"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"prompt\"", "HTTP/1.1 408 "},
	} {
		s := testserver.Start(t, testserver.Options{HTTP: c.opt})
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, c.sent); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), c.answer) {
			t.Errorf("%s: the answer is %q, %v; want %q and the end", name, got, err, c.answer)
		}
		conn.Close()
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	if a := send(t, s, "GET", "/livez", nil, "X-Long", strings.Repeat("x", 200<<10)); a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", a.status)
	}
}

// certificate makes a certificate for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		var out bytes.Buffer
		if err := pem.Encode(&out, &pem.Block{Type: kind, Bytes: der}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", keyDER), pool
}
