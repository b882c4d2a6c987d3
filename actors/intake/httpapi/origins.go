package httpapi

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// harmless are the endpoints that only read and cost very little. Pages of other
// origins may call them, as links do; browsers hide the answer. All others act.
var harmless = []string{"/livez", "/readyz", "/health", "/v1/models", "/server_info", "/get_server_info", "/metrics"}

// acts reports whether a request does more than read.
func acts(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	return !slices.Contains(harmless, r.URL.Path) && !strings.HasPrefix(r.URL.Path, "/v1/models/")
}

// withOrigins refuses what browsers send for pages of foreign origins.
func (s *Server) withOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := s.rulesFor(r.Context())
		e := o.hosts.admit(r, acts(r), o.CORSOrigins)
		if e == nil {
			next.ServeHTTP(w, r)
			return
		}
		if r.ContentLength != 0 { // the body is not read
			closeAfter(w, r)
		}
		s.answer(func(http.ResponseWriter, *http.Request) *apiError { return e })(w, r)
	})
}

// admit refuses a request for a foreign name of this server, and one that acts and
// comes from an origin that is foreign and not allowed.
func (h *hostRule) admit(r *http.Request, acts bool, origins []string) *apiError {
	if e := h.check(r); e != nil {
		return e
	}
	if acts && foreign(r, origins) {
		return newError(http.StatusForbidden).coded("origin_not_allowed").
			say("requests from web pages of this origin are not allowed; add the origin to cors-origins or, behind a reverse proxy, pass the Host header on")
	}
	return nil
}

// foreign reports whether a request is from a web page of another origin that is not
// allowed. Pages cannot forge the two headers, and programs do not send them.
func foreign(r *http.Request, allowed []string) bool {
	origins := r.Header.Values("Origin")
	if slices.Contains(allowed, "*") || len(origins) == 1 && slices.Contains(allowed, origins[0]) {
		return false
	}
	// same-site is another port or a neighbouring name. Requests in the mode no-cors
	// have it without an Origin.
	site := func(s string) bool {
		return strings.EqualFold(s, "cross-site") || strings.EqualFold(s, "same-site") && len(origins) == 0
	}
	return slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), site) ||
		slices.ContainsFunc(origins, func(o string) bool { return !sameOrigin(o, r) })
}

// sameOrigin compares an Origin with the Host. The scheme is compared only over TLS:
// behind a proxy it may be https although this server speaks http.
func sameOrigin(origin string, r *http.Request) bool {
	origin = strings.ToLower(origin)
	u, err := url.Parse(origin)
	if err != nil || u.Scheme+"://"+u.Host != origin || u.Scheme != "https" && (u.Scheme != "http" || r.TLS != nil) {
		return false
	}
	name, port, ok := splitHost(u.Host)
	wanted, wantedPort, wantedOK := splitHost(r.Host)
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return ok && wantedOK && name == wanted && cmp.Or(port, usual) == cmp.Or(wantedPort, usual)
}

// hostRule is the set of names under which the server answers. With DNS rebinding, a
// browser sends a foreign name.
type hostRule struct {
	listed   bool            // the settings have names, so names are checked
	loopback *atomic.Bool    // the server listens on loopback, so names are checked
	any      bool            // all are allowed
	allowed  map[string]bool // in addition to the loopback ones, as from splitHost
}

// newHostRule makes the rule of a server that will listen on a name or an address.
func newHostRule(host string, allowed []string) *hostRule {
	h := &hostRule{listed: len(allowed) > 0, loopback: &atomic.Bool{}, allowed: map[string]bool{}}
	for _, name := range append([]string{host}, allowed...) {
		h.any = h.any || name == "*"
		name = normalHost(name)
		if a, err := netip.ParseAddr(name); name != "" && (err != nil || !a.IsUnspecified()) { // 0.0.0.0 is not a name
			h.allowed[name] = true
		}
	}
	return h
}

// listens sets the address that was opened, before the first request.
func (h *hostRule) listens(a net.Addr) {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		h.loopback.Store(true)
	}
}

// check refuses a request for another name.
func (h *hostRule) check(r *http.Request) *apiError {
	if !h.listed && !h.loopback.Load() || h.any {
		return nil
	}
	name, _, ok := splitHost(r.Host)
	if ok && (isLoopback(name) || h.allowed[name]) {
		return nil
	}
	e := newError(http.StatusForbidden).coded("host_not_allowed")
	if r.Host == "" {
		return e.say("the Host header is missing; send it, for example localhost")
	}
	return e.say("the host %q is not allowed; if it is a name of this server, add it to allowed-hosts", clip(r.Host, 64))
}

// normalHost is a name or address of the settings as from splitHost, "" for none. An
// IPv6 address may have brackets.
func normalHost(text string) string {
	if strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	name, _, _ := splitHost(text)
	return name
}

// splitHost splits a Host into name and port, "" without one. The name is in lower case,
// without brackets and a last dot; addresses are in their shortest form. It is not ok
// with further parts, such as a user name.
func splitHost(text string) (name, port string, ok bool) {
	var rest string
	if inside, bracketed := strings.CutPrefix(text, "["); bracketed {
		name, rest, ok = strings.Cut(inside, "]")
		a, err := netip.ParseAddr(name)
		if !ok || err != nil || !a.Is6() {
			return "", "", false
		}
		name = a.Unmap().String()
	} else {
		name = text
		if at := strings.IndexByte(text, ':'); at >= 0 {
			name, rest = text[:at], text[at:]
		}
		name = strings.TrimSuffix(strings.ToLower(name), ".")
	}
	if rest != "" {
		if port = strings.TrimPrefix(rest, ":"); port == rest || strings.Trim(port, "0123456789") != "" {
			return "", "", false
		}
	}
	return name, port, name != ""
}

// isLoopback reports whether a name reaches only this machine. Browsers resolve names
// below localhost themselves.
func isLoopback(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}
