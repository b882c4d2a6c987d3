package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
)

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

// normalHost is a setting's host as from splitHost, "" for none. IPv6 needs no brackets.
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
