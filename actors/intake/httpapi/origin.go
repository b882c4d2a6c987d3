package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// harmless are the endpoints that only tell something and cost next to nothing:
// a page of another origin may cause them to be called, as a link does. The
// browser keeps the answer from it. Everything else acts.
var harmless = []string{"/livez", "/readyz", "/health", "/v1/models", "/server_info", "/get_server_info", "/metrics"}

// acts reports whether a request does more than read.
func acts(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	return !slices.Contains(harmless, r.URL.Path) && !strings.HasPrefix(r.URL.Path, "/v1/models/")
}

// withDoor refuses what browsers send for pages of foreign origins.
func (s *Server) withDoor(next http.Handler) http.Handler {
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
			say("the request comes from a web page of another origin; to allow it, add the origin to cors-origins; behind a reverse proxy, also pass the Host header on")
	}
	return nil
}

// foreign reports whether a browser sends a request for a page of another origin
// that is not allowed. Pages cannot forge the two headers; programs do not send
// them.
func foreign(r *http.Request, allowed []string) bool {
	origins := r.Header.Values("Origin")
	if slices.Contains(allowed, "*") || len(origins) == 1 && slices.Contains(allowed, origins[0]) {
		return false
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		switch strings.ToLower(site) {
		case "cross-site":
			return true
		case "same-site": // another port or a neighbouring name: no-cors requests carry no Origin
			if len(origins) == 0 {
				return true
			}
		}
	}
	for _, origin := range origins {
		if !sameOrigin(origin, r) {
			return true
		}
	}
	return false
}

// sameOrigin compares an Origin with the Host. The scheme counts where it is
// known: behind a proxy it may be https although this server speaks http.
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
